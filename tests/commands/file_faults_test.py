#!/usr/bin/env python3
"""file_faults_test.py STIPPLE FILE_FAULTS: lets one operation on a file fail, for every operation of a short training run
in turn, and one large allocation, for every one of them. Whatever fails, the command ends with a status of 0 or 1, with one
sentence if it is 1, and training ends with the bits of an undisturbed run: at once, or when it is resumed.

FILE_FAULTS is the library that tests/faults/file_faults.cpp describes."""
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

stipple, library = (str(Path(a).resolve()) for a in sys.argv[1:3])
OPTIONS = ("--backend cpu --guard off --steps 60 --stop-at 7 --max-gaussians 200 "
           "--checkpoint-every 3 --checkpoint-seconds 0").split()
INVISIBLE = ("short", "interrupt")  # faults of which the program must notice nothing
PATIENCE_S = 300  # ends a test that hangs


def call(arguments, folder, fault="", counts=""):
    environment = dict(os.environ, OMP_NUM_THREADS="1")
    if fault or counts:
        environment |= {"LD_PRELOAD": library, "FAULT_PATHS": f"{folder}:scene/", "FAULT": fault, "FAULT_COUNTS": counts}
    return subprocess.run([stipple, *arguments], env=environment, capture_output=True, text=True, timeout=PATIENCE_S)


def train(folder, *more, **faults):
    return call(["train", "scene", "-o", folder, *OPTIONS, *more], folder, **faults)


def count_operations():
    assert train("counted", counts="counts").returncode == 0
    return {kind: int(count) for kind, count in (line.split() for line in Path("counts").read_text().splitlines())}


def problem_after(kind, number):
    """What is wrong after this fault; empty if nothing is."""
    folder = f"{kind}_{number}"
    first = train(folder, fault=f"{kind}:{number}")
    if first.returncode not in (0, 1):
        return f"exit status {first.returncode}"
    last_line = first.stderr.splitlines()[-1] if first.stderr else ""
    if first.returncode == 1 and not last_line.startswith("stipple: "):
        return f"no error message: {last_line}"
    if first.returncode == 1 and kind in INVISIBLE:
        return last_line
    if first.returncode == 1:
        begun = Path(folder, "options.json").exists()
        second = train(folder, *(["--resume"] if begun else []))
        if second.returncode != 0:
            return f"{last_line} and then {second.stderr}"
    if Path(folder, "model.ply").read_bytes() != undisturbed:
        return f"the model differs; {last_line}"
    extra = set(os.listdir(folder)) - {"checkpoint", "log.jsonl", "metrics.json", "model.ply", "options.json", ".lock"}
    return f"left behind: {extra}" if extra else ""


# In memory, if possible: flushing a file to a real disk takes most of the time otherwise.
memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
with tempfile.TemporaryDirectory(dir=memory) as work:
    os.chdir(work)
    call(["synth", "-o", "scene", "--views", "8", "--size", "24x18"], "")
    assert train("whole").returncode == 0
    undisturbed = Path("whole/model.ply").read_bytes()
    operations = count_operations()
    faults = [(kind, number) for kind, count in operations.items() for number in range(1, count + 1)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = list(pool.map(lambda fault: problem_after(*fault), faults))
    failures = [(fault, problem) for fault, problem in zip(faults, problems) if problem]
    print(", ".join(f"{count} {kind}" for kind, count in operations.items()))
    for (kind, number), problem in failures:
        print(f"FAILED: {kind} {number}: {problem}")
    print(f"{len(faults)} faults, {len(failures)} failures")
    os.chdir("/")
    # Too few operations would mean that the library does not see them.
    sys.exit(1 if failures or min(operations[kind] for kind in ("open", "read", "write", "fsync", "rename", "alloc")) < 5 else 0)
