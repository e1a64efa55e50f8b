#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times conversions between the formats of models, by Stipple and by splat-transform in alternation, with lower bounds.

    ./setup --test && bench/formats.py build/release/apps/stipple/stipple [--model run/model.ply] [--count 1000000]

Prints a table for docs/results.md: the seconds of a conversion, by the clock and of the CPU (user and system), of the run
with the least CPU time. The model is the given one, repeated with jitter until there are enough Gaussians.
"""
import argparse
import os
import pathlib
import platform
import resource
import subprocess
import tempfile
import time
import zipfile
import zlib

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent
SPLAT_TRANSFORM = ROOT / "tests/cross_check/node_modules/@playcanvas/splat-transform/bin/cli.mjs"


def timed(command, **options):
    """(seconds by the clock, seconds of the CPU, MiB at the peak) of a command."""
    start = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, **options)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    if process.returncode:
        raise SystemExit(f"{command}: ended with {process.returncode}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def read_ply(path):
    """The vertices of a binary .ply whose properties are all floats, and their names."""
    with open(path, "rb") as file:
        names, count = [], 0
        for line in iter(file.readline, b"end_header\n"):
            words = line.decode().split()
            if words[:2] == ["element", "vertex"]:
                count = int(words[2])
            elif words[:2] == ["property", "float"]:
                names.append(words[2])
            elif words[0] in ("element", "property"):
                raise SystemExit(f"{path}: expected only float properties of vertices, found: {line.decode()}")
        return names, np.fromfile(file, np.float32, count * len(names)).reshape(count, len(names))


def write_ply(path, names, values):
    header = ["ply", "format binary_little_endian 1.0", f"element vertex {len(values)}"]
    header += [f"property float {name}" for name in names] + ["end_header", ""]
    with open(path, "wb") as file:
        file.write("\n".join(header).encode())
        values.astype(np.float32).tofile(file)


def enlarge(names, values, count):
    """Repeats the Gaussians, each copy moved and changed a little, so that no two are equal."""
    random = np.random.default_rng(1)
    result = values[np.arange(count) % len(values)]
    copies = np.arange(count) >= len(values)
    for column, name in enumerate(names):
        if name not in ("nx", "ny", "nz"):
            spread = 0.05 * values[:, column].std()
            result[copies, column] += random.normal(0, spread, copies.sum()).astype(np.float32)
    return result


def compressor_alone(kind, path, folder):
    """Seconds of the CPU that the compressor needs for the data in `path`, on one core, at its usual level."""
    if kind == "sog":
        total = 0
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".webp"):
                    archive.extract(name, folder)
                    image = folder / name
                    subprocess.run(["dwebp", "-quiet", "-pam", image, "-o", f"{image}.pam"], check=True)
                    total += timed(["cwebp", "-quiet", "-lossless", "-exact", f"{image}.pam", "-o", f"{image}.2"])[1]
        return "cwebp -lossless", total
    data = path.read_bytes()
    if kind == "spz-3":
        raw = zlib.decompress(data, 31)
        start = time.process_time()
        zlib.compress(raw, 6)
        return "zlib, level 6", time.process_time() - start
    toc = int.from_bytes(data[16:20], "little")
    frames = toc + 16 * data[15]
    raw = folder / "raw"
    raw.write_bytes(subprocess.run(["zstd", "-dcq"], input=data[frames:], stdout=subprocess.PIPE, check=True).stdout)
    return "zstd -12", timed(["zstd", "-12", "-q", "-f", "--single-thread", raw, "-o", folder / "raw.zst"])[1]


FORMATS = [  # name, file name, options of Stipple, options of splat-transform (None: it cannot write this format), its reader
    (".ply", "m.ply", [], [], True),
    (".splat", "m.splat", [], None, True),
    (".compressed.ply", "m.compressed.ply", [], [], True),
    (".spz, version 3", "m3.spz", ["--spz-version", "3"], ["--spz-version", "3"], True),
    (".spz, version 4", "m4.spz", ["--spz-version", "4"], ["--spz-version", "4"], True),
    (".glb", "m.glb", [], [], False),
    (".sog", "m.sog", [], [], True),
]
COMPRESSORS = {"m3.spz": "spz-3", "m4.spz": "spz-4", "m.sog": "sog"}


def best(old, new):
    return new if old is None or new[1] < old[1] else old


def measure(stipple, source, folder, only, repeats):
    def ours(source, target, options=()):
        return timed([stipple, "convert", source, target, *options])

    def theirs(source, target, options=()):
        return timed(["node", SPLAT_TRANSFORM, "--quiet", "--overwrite", "--gpu", "cpu", *options, source, target])

    print("| format | | Stipple: clock, CPU | splat-transform: clock, CPU | ratio: clock, CPU | MiB: Stipple, splat-transform |")
    print("|---|---|---|---|---|---|")
    for name, file, our_options, their_options, they_read in FORMATS:
        if only and only not in name:
            continue
        our_file, their_file = folder / f"ours_{file}", folder / f"theirs_{file}"
        a = b = c = d = None
        for _ in range(repeats):
            a = best(a, ours(source, our_file, our_options))
            if their_options is not None:
                b = best(b, theirs(source, their_file, their_options))
            # Both read the same file.
            c = best(c, ours(our_file, folder / "back.ply"))
            if they_read:
                d = best(d, theirs(our_file, folder / "back.ply"))
        for verb, x, y in (("write", a, b), ("read", c, d)):
            row = f"| {name} | {verb} | {x[0]:.2f}, {x[1]:.2f} | "
            row += f"{y[0]:.2f}, {y[1]:.2f} | {y[0] / x[0]:.1f}, {y[1] / x[1]:.1f} | " if y else "| | "
            print(row + f"{x[2]:.0f}" + (f", {y[2]:.0f} |" if y else " |"), flush=True)
        sizes = [f"{path.stat().st_size / 1e6:.1f} MB" for path in (our_file, their_file) if path.exists()]
        floor = timed(["cp", our_file, folder / "copy"])
        extra = ""
        if file in COMPRESSORS:
            extra = "; {} alone: {:.2f} s of CPU".format(*compressor_alone(COMPRESSORS[file], our_file, folder))
        print(f"| | {', '.join(sizes)} | copying the file: {floor[0]:.2f}, {floor[1]:.2f}{extra} | | | |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stipple", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path, required=True, help="a trained model (.ply) to repeat")
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--only", help="a part of the name of a format")
    parser.add_argument("--repeats", type=int, default=2)
    a = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory(prefix="stipple-formats-") as place:
        folder = pathlib.Path(place)
        names, values = read_ply(a.model)
        source = folder / "source.ply"
        write_ply(source, names, enlarge(names, values, a.count))
        node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
        print(f"{a.count} Gaussians, {source.stat().st_size / 1e6:.0f} MB as .ply; {os.cpu_count()} cores, {platform.machine()}, node {node}; "
              f"load {os.getloadavg()[0]:.1f}\n")
        measure(a.stipple.resolve(), source, folder, a.only, a.repeats)


if __name__ == "__main__":
    main()
