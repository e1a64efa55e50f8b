#!/usr/bin/env python3
"""soak.py STIPPLE [--backend cpu] [--seconds 360] [--scene FOLDER]: trains for a long time, and looks for what only time shows.

Two thirds of the time, one run trains, evaluates its test views and writes checkpoints, while its memory on the host and, with
CUDA, on the device is measured: after the model has reached its size, it must not grow by more than 5 %. In the last third,
a run is killed and resumed in a loop, and must end with the bits of a run that was not. On CUDA, compute-sanitizer then checks
every access to memory of a few steps, if it is installed. The exit status is 1 if anything of this fails."""
import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("stipple")
parser.add_argument("--backend", default="cpu")
parser.add_argument("--seconds", type=float, default=360)
parser.add_argument("--scene", help="a scene to train on; the built-in one by default")
arguments = parser.parse_args()
stipple = str(Path(arguments.stipple).resolve())
OPTIONS = f"--backend {arguments.backend} --steps 1000000 --max-gaussians 20000 --checkpoint-seconds 0 --deterministic --guard off".split()
GROWTH = 1.05


def resident_bytes(pid):
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def device_bytes(pid):
    """Of this process, as the driver counts it; 0 if there is no NVIDIA driver."""
    if not shutil.which("nvidia-smi"):
        return 0
    query = ["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"]
    rows = subprocess.run(query, capture_output=True, text=True).stdout.splitlines()
    return sum(int(row.split(",")[1]) << 20 for row in rows if row.split(",")[0].strip() == str(pid))


def start(folder, *more):
    command = [stipple, "train", scene, "-o", folder, *OPTIONS, *more]
    with open("messages", "w") as messages:
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=messages)


def fail(what):
    sys.exit(f"FAILED: {what}: {Path('messages').read_text()[-500:]}")


def finish(folder, *more):
    status = start(folder, *more).wait()
    if status != 0:
        fail(f"{folder}: exit status {status}")


def steps_of(folder):
    path = Path(folder, "metrics.json")
    return json.loads(path.read_text())["steps"] if path.exists() else 0


def is_flat(what, samples):
    """Compares the fourth sixth of the time with the last: buffers grow until they have met the largest need, a leak always."""
    size = len(samples) // 6
    sixths = [statistics.median(samples[i * size:(i + 1) * size]) for i in range(6)]
    print(f"{what}: {', '.join(f'{sixth / 2**20:.0f}' for sixth in sixths)} MiB in the sixths of the time, at most {max(samples) / 2**20:.0f}")
    return sixths[5] <= GROWTH * sixths[3]


def train_on(seconds):
    process = start("long", "--eval", "--eval-every", "200", "--checkpoint-every", "100", "--refine-from", "0", "--refine-every", "1")
    host, device, end = [], [], time.monotonic() + seconds
    while time.monotonic() < end and process.poll() is None:
        host.append(resident_bytes(process.pid))
        device.append(device_bytes(process.pid))
        time.sleep(0.5)
    if process.poll() is not None:
        fail("the run ended by itself")  # the guard, which ends runs that no longer improve, is off
    process.terminate()
    process.wait()
    print(f"one run: {steps_of('long')} steps in {seconds:.0f} s")
    host_is_flat = is_flat("host memory", host)
    return is_flat("device memory", device) and host_is_flat if max(device) > 0 else host_is_flat


def kill_in_a_loop(seconds):
    chance, kills, end = random.Random(1), 0, time.monotonic() + seconds
    while time.monotonic() < end:
        resume = ["--resume"] if Path("killed", "options.json").exists() else []
        process = start("killed", "--checkpoint-every", "20", *resume)
        time.sleep(1 + 3 * chance.random())
        process.kill()
        process.wait()
        kills += 1
    last = steps_of("killed") + 50
    finish("killed", "--resume", "--stop-at", str(last))
    finish("whole", "--checkpoint-every", "20", "--stop-at", str(last))
    same = Path("killed", "model.ply").read_bytes() == Path("whole", "model.ply").read_bytes()
    print(f"{kills} kills, {last} steps: {'the same bits' if same else 'FAILED: the bits differ'}")
    return same


def check_accesses():
    if arguments.backend != "cuda" or not shutil.which("compute-sanitizer"):
        return True
    command = ["compute-sanitizer", "--tool", "memcheck", "--error-exitcode", "9", stipple, "train", scene, "-o", "checked", *OPTIONS,
               "--stop-at", "20", "--refine-from", "0", "--refine-every", "1"]
    result = subprocess.run(command, capture_output=True, text=True)
    print(f"compute-sanitizer: {result.stdout.strip().splitlines()[-1]}")
    return result.returncode == 0


with tempfile.TemporaryDirectory() as work:
    scene = str(Path(arguments.scene).resolve()) if arguments.scene else "scene"
    os.chdir(work)
    if not arguments.scene:
        subprocess.run([stipple, "synth", "-o", "scene", "--views", "30", "--size", "160x120"], capture_output=True, check=True)
    results = [train_on(arguments.seconds * 2 / 3), kill_in_a_loop(arguments.seconds / 3), check_accesses()]
    os.chdir("/")
sys.exit(0 if all(results) else 1)
