#!/usr/bin/env python3
"""kill_storm_test.py STIPPLE: kills training runs 200 times, in every phase and with every signal that ends programs, and
resumes them each time. The models end with the bits of runs that were never disturbed."""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

stipple = str(Path(sys.argv[1]).resolve())
KILLS = 200
SIGNALS = [[signal.SIGKILL], [signal.SIGTERM], [signal.SIGINT], [signal.SIGHUP], [signal.SIGINT, signal.SIGINT]]
COMMON = ("--backend cpu --steps 1000000 --max-gaussians 400 --refine-from 0 --refine-every 1 --sh-every 3 "
          "--checkpoint-seconds 0").split()
# Each run in turn is killed a quarter of the times. A checkpoint after every step means that most kills hit the saving.
RUNS = {
    "mcmc": "--strategy mcmc --checkpoint-every 1",
    "adc": "--strategy adc --checkpoint-every 2",
    "mcmc_batch": "--strategy mcmc --batch 2 --antialiased --checkpoint-every 3 --eval --eval-every 5",
    "adc_object": "--strategy adc --random-background --checkpoint-every 1 --eval --eval-every 4",
}
PATIENCE_S = 300  # ends a test that hangs


def start(name, folder, *more):
    command = [stipple, "train", "scene", "-o", folder, *COMMON, *RUNS[name].split(), *more]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def errors_of(process):
    """Waits for the end of the run, and returns what it has printed."""
    try:
        return process.communicate(timeout=PATIENCE_S)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError(f"{process.args} did not end within {PATIENCE_S} s")


def finish(name, folder, *more):
    process = start(name, folder, *more)
    errors = errors_of(process)
    assert process.returncode == 0, f"{folder}: exit status {process.returncode}: {errors}"


def wait_for_new_checkpoint(process, folder, since_ns):
    deadline = time.monotonic() + PATIENCE_S
    while process.poll() is None:
        try:
            if os.stat(f"{folder}/checkpoint").st_mtime_ns > since_ns:
                return
        except FileNotFoundError:
            pass
        if time.monotonic() > deadline:
            process.kill()
            raise AssertionError(f"{folder}: no checkpoint appears")
        time.sleep(0.001)


def kill_once(name, folder, chance, signals):
    """Starts or resumes the run and kills it: at any moment from its start, or soon after its next checkpoint."""
    before_ns = time.time_ns()
    process = start(name, folder, *(["--resume"] if os.path.exists(f"{folder}/options.json") else []))
    if chance.random() < 0.7:
        wait_for_new_checkpoint(process, folder, before_ns)
    time.sleep(chance.random() * 0.05)
    for number in signals:
        process.send_signal(number)
        time.sleep(chance.random() * 0.002)
    errors = errors_of(process)
    # A signal that arrives before the run watches for it, or a second one, ends the program at once.
    allowed = [1] + [-number for number in signals]
    assert process.returncode in allowed, f"{folder}: exit status {process.returncode} after {signals}: {errors}"
    if process.returncode == 1:
        assert "continue it with --resume" in errors.splitlines()[-1], f"{folder}: {errors}"


def storm(name):
    chance = random.Random(name)
    count = KILLS // len(RUNS)
    for i in range(count):
        kill_once(name, name, chance, SIGNALS[i % len(SIGNALS)])
    begun = os.path.exists(f"{name}/options.json")
    reached = json.loads(Path(name, "metrics.json").read_text())["steps"] if Path(name, "metrics.json").exists() else 0
    end = reached + 20  # the metrics are at most one checkpoint behind
    finish(name, name, "--stop-at", str(end), *(["--resume"] if begun else []))
    finish(name, f"{name}_whole", "--stop-at", str(end))
    left = [file for file in os.listdir(name) if file.endswith(".part") or file == ".lock"]
    assert not left, f"{name}: left behind: {left}"
    assert Path(name, "model.ply").read_bytes() == Path(f"{name}_whole", "model.ply").read_bytes(), f"{name}: the model differs"
    return f"{name}: {count} kills, {end} steps, the same bits"


signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the runs inherit it, and after nohup they would ignore SIGHUP
memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
with tempfile.TemporaryDirectory(dir=memory) as work:
    os.chdir(work)
    subprocess.run([stipple, "synth", "-o", "scene", "--views", "8", "--size", "24x18"], capture_output=True, check=True)
    failed = False
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for job in [pool.submit(storm, name) for name in RUNS]:
            try:
                print(job.result())
            except AssertionError as error:
                print(f"FAILED: {error}")
                failed = True
    os.chdir("/")
    sys.exit(failed)
