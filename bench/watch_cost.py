#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""watch_cost.py STIPPLE [--backend cpu] [--scene FOLDER] [--size 1280x720] [--budget 0.1]: what watching costs a run.

One run trains all the time. Phases in which nobody looks at it take turns with phases in which one or four visitors do, at
rest or moving all the time, so that neither the growth of the model nor other work of the machine favours one of them. Every
visitor draws at once what it receives, over the loopback. Visitors run at the lowest priority, since their work is done on other
machines in life, and on the CPU backend it would otherwise take cores away from the training. The ratio is the speed of a
phase to the mean of the phases before and after it, in which nobody looked; the budget promises at least 1 - budget."""
import argparse
import json
import os
import statistics
import subprocess
import struct
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "commands"))
from view_client import Viewer  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("stipple")
parser.add_argument("--backend", default="best")
parser.add_argument("--scene", help="a scene to train on; the built-in one by default")
parser.add_argument("--photos", default="640x480", help="size of the photos of the built-in scene")
parser.add_argument("--size", default="1280x720", help="size of the pictures that visitors want")
parser.add_argument("--budget", default="0.1")
parser.add_argument("--max-gaussians", default="50000")
parser.add_argument("--warm-up", type=float, default=15, help="seconds before the first phase")
parser.add_argument("--phase", type=float, default=5, help="seconds of a phase")
parser.add_argument("--cycles", type=int, default=4, help="how often every kind of phase comes")
parser.add_argument("--json", help="also write the table to this file")
arguments = parser.parse_args()
WIDTH, HEIGHT = (int(side) for side in arguments.size.split("x"))
FRAME_S = 1 / 60  # between the cameras of a visitor who moves
PHASES = [("1 at rest", 1, False), ("1 moving", 1, True), ("4 at rest", 4, False), ("4 moving", 4, True)]


class Monitor(threading.Thread):
    """Receives the status of the run, and looks at nothing."""

    def __init__(self, viewer):
        super().__init__(daemon=True)
        self.socket = viewer.connect()
        self.statuses = []
        self.start()

    def run(self):
        try:
            while True:
                message = self.socket.receive()
                if isinstance(message, dict) and message["type"] == "status":
                    self.statuses.append((time.monotonic(), message))
        except ConnectionError:
            pass

    def measure(self, seconds):
        """Steps per second, and the share of time that the run says it spent on visitors."""
        time.sleep(0.5)  # the first status of a phase is about both
        begin = len(self.statuses)
        time.sleep(seconds)
        statuses = self.statuses[begin:]
        (start, first), (end, last) = statuses[0], statuses[-1]
        share = statistics.mean(status["watch_share"] for _, status in statuses[1:])
        return (last["step"] - first["step"]) / (end - start), share


class Visitor(threading.Thread):
    def __init__(self, viewer, is_moving):
        super().__init__(daemon=True)
        self.socket = viewer.connect()
        self.camera = dict(self.socket.receive_type("hello")["start_camera"])
        x, y = WIDTH / self.camera["width"], HEIGHT / self.camera["height"]
        self.camera.update(width=WIDTH, height=HEIGHT, fx=self.camera["fx"] * x, fy=self.camera["fy"] * y,
                           cx=self.camera["cx"] * x, cy=self.camera["cy"] * y)
        self.is_moving, self.serial, self.pictures, self.is_over = is_moving, 0, [], False
        self.look()
        self.start()
        if is_moving:
            self.mover = threading.Thread(target=self.move, daemon=True)
            self.mover.start()

    def look(self):
        self.serial += 1
        self.camera["camera_from_world"][0][3] += 0.0005 * (1 if self.serial % 400 < 200 else -1)
        self.socket.send({"type": "camera", "serial": self.serial, "camera": self.camera, "is_moving": self.is_moving,
                          "shown": "color", "models": [0], "background": [0, 0, 0], "scale_modifier": 1, "sh_degree": 3})

    def move(self):
        while not self.is_over:
            time.sleep(FRAME_S)
            self.look()

    def run(self):
        try:
            while not self.is_over:
                message = self.socket.receive()
                if isinstance(message, bytes):
                    length = struct.unpack("<I", message[:4])[0]
                    header = json.loads(message[4:4 + length])
                    self.pictures.append(header["width"])
                    self.socket.send({"type": "shown", "serial": header["serial"]})
        except (ConnectionError, OSError):
            pass

    def leave(self):
        self.is_over = True
        if self.is_moving:
            self.mover.join()
        self.socket.close()


def measure(viewer, monitor, count, is_moving):
    visitors = [Visitor(viewer, is_moving) for _ in range(count)]
    rate, share = monitor.measure(arguments.phase)
    for visitor in visitors:
        visitor.leave()
    pictures = [width for visitor in visitors for width in visitor.pictures]
    seconds = arguments.phase + 0.5
    return {"rate": rate, "share": share, "pictures_per_second": len(pictures) / max(count, 1) / seconds,
            "width": statistics.mean(pictures) if pictures else 0}


with tempfile.TemporaryDirectory() as work:
    scene = arguments.scene
    if not scene:
        scene = f"{work}/scene"
        subprocess.run([arguments.stipple, "synth", "-o", scene, "--views", "40", "--size", arguments.photos], check=True,
                       capture_output=True)
    with Viewer(arguments.stipple, "train", scene, "-o", f"{work}/run", "--backend", arguments.backend, "--steps", "1000000",
                "--refine-from", "0", "--sh-every", "3", "--max-gaussians", arguments.max_gaussians, "--guard", "off",
                "--checkpoint-every", "0", "--view", "--port", "0", "--view-budget", arguments.budget) as viewer:
        os.nice(19)  # of this thread and of those that it starts; the run is a process of its own
        monitor = Monitor(viewer)
        time.sleep(arguments.warm_up)
        results = {name: [] for name, _, _ in PHASES}
        before = measure(viewer, monitor, 0, False)["rate"]
        alone = [before]
        for _ in range(arguments.cycles):
            for name, count, is_moving in PHASES:
                watched = measure(viewer, monitor, count, is_moving)
                after = measure(viewer, monitor, 0, False)["rate"]
                watched["ratio"] = watched["rate"] / ((before + after) / 2)
                results[name].append(watched)
                before = after
                alone.append(after)
        status = monitor.statuses[-1][1]
        viewer.stop()

backend = json.dumps(arguments.backend)
print(f"backend {backend}, {status['gaussians']} Gaussians, pictures of {arguments.size}, budget {arguments.budget}; "
      f"{statistics.median(alone):.1f} steps/s with nobody watching")
print("visitors     ratio of speeds (all)              reported share   pictures/s each   mean width")
for name, phases in results.items():
    ratios = sorted(phase["ratio"] for phase in phases)
    mean = {key: statistics.mean(phase[key] for phase in phases) for key in ("share", "pictures_per_second", "width")}
    all_ratios = " ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"{name:12} {statistics.median(ratios):.3f} ({all_ratios:24}) {mean['share']:16.3f} "
          f"{mean['pictures_per_second']:17.1f} {mean['width']:12.0f}")
if arguments.json:
    Path(arguments.json).write_text(json.dumps({"alone": alone, "watched": results, "gaussians": status["gaussians"]}))
