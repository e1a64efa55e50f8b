#!/usr/bin/env python3
"""power_cut_test.py STIPPLE FILE_FAULTS: what a power cut may leave of a training run, at every moment.

FILE_FAULTS (tests/faults/file_faults.cpp) records what a run tells the disk. The record is replayed up to every point, and
the states in which a disk may be found are built: everything has arrived; only what was flushed has arrived; names have
arrived before the data of their files, or the data only in part; of the names that were not flushed, only the last one has
arrived. From each state, --resume must lead to the bits of an undisturbed run."""
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

stipple, library = (str(Path(a).resolve()) for a in sys.argv[1:3])
OPTIONS = ("--backend cpu --guard off --steps 60 --max-gaussians 200 --checkpoint-every 3 "
           "--checkpoint-seconds 0").split()
END = ("--stop-at", "7")
PATIENCE_S = 300  # ends a test that hangs


def train(folder, *more, trace=""):
    environment = dict(os.environ)
    if trace:
        environment |= {"LD_PRELOAD": library, "FAULT_PATHS": f"{folder}", "FAULT_TRACE": trace}
    result = subprocess.run([stipple, "train", "scene", "-o", folder, *more], env=environment, capture_output=True,
                            text=True, timeout=PATIENCE_S)
    return result


class Disk:
    """Files by number, with the length of what was flushed, and the names that lead to them."""

    def __init__(self, files):
        self.data = dict(enumerate((bytearray(data) for data in files.values()), start=-len(files)))
        self.flushed = {number: len(data) for number, data in self.data.items()}
        self.names = dict(zip(files, self.data))  # as a running program sees them
        self.flushed_names = dict(self.names)
        self.changes = []  # of names, since the last flush

    def rename_all(self, change):
        self.changes.append(change)
        change(self.names)

    def apply(self, words, payload):
        kind = words[0]
        if kind == "open":
            number, path = int(words[1]), words[2] if len(words) > 2 else ""
            if path in self.names:  # appended to
                old = self.names[path]
                self.data[number], self.flushed[number] = self.data[old], self.flushed[old]
                self.rename_all(lambda names: names.update({path: number}))
                if self.flushed_names.get(path) == old:
                    self.flushed_names[path] = number
                return
            self.data[number], self.flushed[number] = bytearray(), 0
            if path:
                self.rename_all(lambda names: names.update({path: number}))
        elif kind == "truncate":
            self.data[int(words[1])].clear()
            self.flushed[int(words[1])] = 0
        elif kind == "write":
            self.data[int(words[1])] += payload
        elif kind == "fsync":
            self.flushed[int(words[1])] = len(self.data[int(words[1])])
        elif kind == "link":
            self.rename_all(lambda names: names.update({words[2]: int(words[1])}))
        elif kind == "rename":
            number = self.names[words[1]]

            def move(names):
                names.pop(words[1], None)
                names[words[2]] = number
            self.rename_all(move)
        elif kind == "unlink":
            self.rename_all(lambda names: names.pop(words[1], None))
        elif kind == "flush":
            self.flushed_names, self.changes = dict(self.names), []

    def states(self):
        """What may be on the disk now: lists of (name, content)."""
        def content(names, length_of):
            return tuple(sorted((name, bytes(self.data[number][:length_of(number)])) for name, number in names.items()))
        whole = lambda number: len(self.data[number])
        flushed = lambda number: self.flushed[number]
        torn = lambda number: (self.flushed[number] + len(self.data[number])) // 2
        yield content(self.names, whole)
        yield content(self.flushed_names, flushed)
        yield content(self.names, flushed)
        yield content(self.names, torn)
        if self.changes:
            last_only = dict(self.flushed_names)
            self.changes[-1](last_only)
            yield content(last_only, flushed)


def states_of(trace, earlier):
    """All states that the record leads through."""
    disk, found = Disk(earlier), set()
    with open(trace, "rb") as file:
        while line := file.readline():
            words = line.decode().rstrip("\n").split(" ")
            words[1:] = [os.path.basename(word) if "/" in word else word for word in words[1:]]
            if words[0] != "flush" and any(word == ".lock" for word in words):
                continue
            payload = file.read(int(words[2])) if words[0] == "write" else b""
            if words[0] in ("write", "fsync", "truncate") and int(words[1]) not in disk.data:
                continue
            disk.apply(words, payload)
            found.update(disk.states())
    return sorted(found)


def problem_of(folder, state, expected):
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    for name, content in state:
        Path(folder, name).write_bytes(content)
    options = dict(state).get("options.json", b"")
    if options:
        result = train(folder, "--resume", *END)
    else:
        result = train(folder, *OPTIONS, *END, "--seed", "2")
    names = [(name, len(content)) for name, content in state]
    if result.returncode != 0:
        return f"{names}: exit status {result.returncode}: {result.stderr}"
    run = "earlier" if b'"seed": 1' in options else "new"
    if Path(folder, "model.ply").read_bytes() != expected[run]:
        return f"{names}: the model is not that of the {run} run"
    left = [name for name in os.listdir(folder) if name.endswith(".part")]
    return f"{names}: left behind: {left}" if left else ""


def files_in(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
with tempfile.TemporaryDirectory(dir=memory) as work:
    os.chdir(work)
    subprocess.run([stipple, "synth", "-o", "scene", "--views", "8", "--size", "24x18"], capture_output=True, check=True)
    assert train("earlier", *OPTIONS, *END, "--seed", "1").returncode == 0
    earlier = files_in("earlier")
    assert train("new", *OPTIONS, *END, "--seed", "2", trace="trace_new").returncode == 0
    assert train("stopped", *OPTIONS, "--seed", "2", "--stop-at", "4").returncode == 0
    stopped = files_in("stopped")
    assert train("stopped", "--resume", *END, trace="trace_resumed").returncode == 0
    shutil.copytree("earlier", "replaced")
    assert train("replaced", *OPTIONS, *END, "--seed", "2", "--overwrite", trace="trace_replaced").returncode == 0
    models = {run: Path(run, "model.ply").read_bytes() for run in ("earlier", "new")}
    failures, checked = [], 0
    for what, before in (("new", {}), ("resumed", stopped), ("replaced", earlier)):
        states = states_of(f"trace_{what}", before)
        print(f"{what} run: {len(states)} states")
        checked += len(states)
        if len(states) < 10:
            failures.append("too few states: the record is not complete")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            jobs = [pool.submit(problem_of, f"{what}_{i}", state, models) for i, state in enumerate(states)]
            failures += [f"{what}: {job.result()}" for job in jobs if job.result()]
    for failure in failures:
        print(f"FAILED: {failure}")
    print(f"{checked} states, {len(failures)} failures")
    os.chdir("/")
    sys.exit(1 if failures else 0)
