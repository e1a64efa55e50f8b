#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""convert_memory.py STIPPLE FOLDER [COUNT [ENDING...]]: time and peak memory of `stipple convert`, from a .ply of COUNT
Gaussians (10 million, of degree 3) to each ending and back. The folder needs room for three such models. The last column
is the peak memory in units of the larger file."""
import os
import subprocess
import sys
import time

import numpy as np

CHUNK = 1 << 18
FIELDS = (["x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"] + [f"f_rest_{i}" for i in range(45)] +
          ["opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3"])


def write_model(path, count):
    """Random Gaussians with distributions like those of a trained scene: most are small and close to the middle."""
    random = np.random.default_rng(1)
    with open(path, "wb") as file:
        header = ["ply", "format binary_little_endian 1.0", f"element vertex {count}"]
        header += [f"property float {name}" for name in FIELDS] + ["end_header", ""]
        file.write("\n".join(header).encode())
        for begin in range(0, count, CHUNK):
            rows = random.standard_normal((min(CHUNK, count - begin), len(FIELDS)), dtype=np.float32)
            rows[:, 0:3] *= 3
            rows[:, 3:6] = 0
            rows[:, 9:54] *= 0.1
            rows[:, 55:58] -= 5
            file.write(rows.tobytes())


def convert(stipple, inputs, output, *flags):
    if os.path.exists(output):
        os.remove(output)
    start = time.monotonic()
    process = subprocess.Popen([stipple, "convert", *inputs, output, *flags], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{' '.join(inputs)} to {output}: exit status {process.returncode}")
    seconds, peak = time.monotonic() - start, usage.ru_maxrss * 1024
    largest = max(os.path.getsize(path) for path in [*inputs, output])
    print(f"{'+'.join(os.path.basename(i) for i in inputs)} to {os.path.basename(output)} {' '.join(flags)}".ljust(60),
          f"{seconds:7.1f} s {os.path.getsize(output) / 1e9:7.3f} GB {peak / 1e9:6.2f} GB {peak / largest:5.2f}", flush=True)


def main():
    stipple, folder = sys.argv[1:3]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000_000
    endings = sys.argv[4:] or [".ply", ".splat", ".compressed.ply", ".spz", ".glb"]
    big, back = os.path.join(folder, "big.ply"), os.path.join(folder, "back.ply")
    write_model(big, count)
    print("conversion".ljust(60), "     time    output   peak  of the larger file")
    for ending in endings:
        output = os.path.join(folder, "out" + ending)
        convert(stipple, [big], output)
        if ending != ".ply":
            convert(stipple, [output], back)
        os.remove(output)
    edited = os.path.join(folder, "edited.ply")
    convert(stipple, [big], edited, "--rotate", "10,20,30", "--scale", "2", "--morton")
    convert(stipple, [big], edited, "--prune-opacity", "0.3", "--sh-degree", "1")
    for path in (big, back, edited):
        if os.path.exists(path):
            os.remove(path)


main()
