#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""watch_training_test.py STIPPLE: what `stipple train --view` promises to those who watch, and to the run: it ends with the
same bits whether somebody watches or not."""
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

from view_client import TIMEOUT_S, Viewer

stipple = str(Path(sys.argv[1]).resolve())
os.environ["NO_COLOR"] = "1"
OPTIONS = ["--max-gaussians", "3000", "--backend", "cpu", "--eval", "--checkpoint-seconds", "0"]
# A run that cannot end before it is stopped.
ENDLESS = ["--steps", "1000000", "--max-gaussians", "2000", "--backend", "cpu"]


def train(folder, *options):
    return [stipple, "train", "scene", "-o", folder, *options]


class Watcher:
    """A visitor who looks at everything that comes."""

    def __init__(self, viewer):
        self.socket = viewer.connect()
        self.hello = self.socket.receive()
        self.serial = 0
        self.status = None
        self.points, self.evaluations, self.notices, self.scores = [], [], [], []

    def look(self, is_moving=False, shown="color", size=(320, 240)):
        self.serial += 1
        camera = dict(self.hello["start_camera"])
        x, y = size[0] / camera["width"], size[1] / camera["height"]
        camera.update(width=size[0], height=size[1], fx=camera["fx"] * x, fy=camera["fy"] * y, cx=camera["cx"] * x,
                      cy=camera["cy"] * y)
        camera["camera_from_world"] = [list(row) for row in camera["camera_from_world"]]
        camera["camera_from_world"][0][3] += 0.001 * self.serial
        self.socket.send({"type": "camera", "serial": self.serial, "camera": camera, "is_moving": is_moving, "shown": shown,
                          "models": [0], "background": [0, 0, 0], "scale_modifier": 1, "sh_degree": 3})

    def command(self, name):
        self.socket.send({"type": "command", "name": name})

    def receive(self):
        """One message; the header if it is a picture."""
        message = self.socket.receive()
        if isinstance(message, bytes):
            header, jpeg = picture_of(message)
            self.socket.send({"type": "shown", "serial": header["serial"]})
            assert jpeg[:3] == b"\xff\xd8\xff" and len(jpeg) > 100
            return header
        if message["type"] == "status":
            self.status = message
        elif message["type"] == "history":
            self.points += message["training"]
            self.evaluations += message["evaluations"]
        elif message["type"] == "notice":
            self.notices.append(message)
        elif message["type"] == "score":
            self.scores.append(message)
        return None

    def wait_for(self, condition):
        while not condition(self):
            self.receive()

    def picture(self, is_wanted=lambda header: True):
        while not ((header := self.receive()) and header["serial"] == self.serial and is_wanted(header)):
            pass
        return header

    def until_the_end(self):
        try:
            while True:
                self.receive()
        except ConnectionError:
            pass


def picture_of(message):
    length = struct.unpack("<I", message[:4])[0]
    return json.loads(message[4:4 + length]), message[4 + length:]


def finish(viewer):
    """The exit status, and what was written to the standard output after the address."""
    output, messages = viewer.process.communicate(timeout=TIMEOUT_S)
    return viewer.process.returncode, output, messages


def same(a, b):
    return all(Path(a, name).read_bytes() == Path(b, name).read_bytes() for name in ("model.ply", "checkpoint"))


class RunHasEnded(Exception):
    """Before the visitors had done what they wanted: the machine is busy with something else."""


def test_bits():
    """A run ends with the same bits, whatever its visitors do. It is as long as they need."""
    steps = 300
    while True:
        for folder in ("alone", "watched"):
            shutil.rmtree(folder, ignore_errors=True)
        options = [*OPTIONS, "--steps", str(steps)]
        subprocess.run(train("alone", *options), check=True, capture_output=True, timeout=TIMEOUT_S)
        try:
            watch(options, steps)
            break
        except RunHasEnded:
            steps *= 3
    assert same("alone", "watched"), "watching has changed the bits of the run"


def watch(options, steps):
    """Three watch, one of them moves, pauses, resumes, saves and asks for scores, and one vanishes in the middle of a
    picture."""
    with Viewer(*train("watched", *options, "--view", "--port", "0", "--view-budget", "0.5")) as viewer:
        try:
            first, second = visit(viewer)
            thread = threading.Thread(target=second.until_the_end)
            thread.start()
            for _ in range(5):
                first.look(is_moving=True)
                first.picture()
            first.look()
        except ConnectionError:
            status, _, messages = finish(viewer)
            assert status == 0, messages
            raise RunHasEnded from None
        first.until_the_end()
        thread.join()
        status, _, messages = finish(viewer)
    assert status == 0, messages
    for watcher in (first, second):
        assert watcher.status["state"] == "finished" and watcher.status["step"] == steps, watcher.status
        assert [e["step"] for e in watcher.evaluations] == [steps], watcher.evaluations
        assert watcher.points[-1]["step"] == steps and len(watcher.points) >= 20, watcher.points
        assert "stipple view watched shows the model" in watcher.notices[-1]["text"], watcher.notices


def visit(viewer):
    """Ends while the run goes on; returns the two who stay."""
    first, second, gone = Watcher(viewer), Watcher(viewer), Watcher(viewer)
    first.command("pause")
    hello = first.hello
    assert (hello["mode"], hello["title"], hello["streams"]) == ("training", "watched", True), hello
    assert hello["models"][0]["url"] is None and len(hello["views"]) == 10 and not hello["can_save"], hello
    first.wait_for(lambda w: w.status and w.status["state"] == "paused")

    # Paused, everybody gets sharp pictures of everything at once, whatever the budget.
    step = first.status["step"]
    for shown in ("color", "depth", "alpha", "gaussians"):
        first.look(shown=shown)
        header = first.picture(lambda h: h["is_sharp"])
        assert (header["shown"], header["width"], header["height"], header["step"]) == (shown, 320, 240, step), header
    second.look()
    second.picture(lambda h: h["is_sharp"])
    gone.look(size=(2000, 1500))
    gone.socket.socket.recv(1000)
    gone.socket.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    gone.socket.close()  # with a reset

    # A save that fails does not end the run.
    os.mkdir("watched/model.ply")
    first.command("save")
    first.wait_for(lambda w: any(n["kind"] == "error" and "model.ply" in n["text"] for n in w.notices))
    os.rmdir("watched/model.ply")
    first.command("save")
    first.wait_for(lambda w: any("saved at step" in n["text"] for n in w.notices))
    assert Path("watched/model.ply").is_file() and Path("watched/checkpoint").exists()
    first.socket.send({"type": "score", "view": 3})
    first.wait_for(lambda w: w.scores)
    assert first.scores[0]["view"] == 3 and first.scores[0]["step"] == step and first.scores[0]["psnr"] > 5, first.scores
    first.wait_for(lambda w: w.status["state"] == "paused")
    assert first.status["step"] == step, first.status
    first.command("resume")
    first.wait_for(lambda w: w.status["state"] == "training" and w.status["step"] > step)

    # In training, the second one sees how the model changes.
    second.look()
    steps = {second.picture()["step"] for _ in range(3)}
    assert len(steps) == 3, steps
    return first, second


def test_stop_and_resume():
    with Viewer(*train("stopped", *ENDLESS, "--view", "--port", "0")) as viewer:
        watcher = Watcher(viewer)
        watcher.wait_for(lambda w: w.status and w.status["step"] >= 20)
        watcher.command("stop")
        watcher.until_the_end()
        status, output, messages = finish(viewer)
    assert status == 0, messages
    assert "stopped by a visitor at step" in output and "continue with --resume" in output, output
    assert watcher.status["state"] == "finished", watcher.status
    step = watcher.status["step"]

    # The resumed run shows its earlier part, and Ctrl-C ends a pause, even if nobody is there any more.
    with Viewer(*train("stopped", "--resume", "--view", "--port", "0")) as viewer:
        watcher = Watcher(viewer)
        watcher.command("pause")
        watcher.wait_for(lambda w: w.status and w.status["state"] == "paused")
        assert watcher.points and watcher.points[0]["step"] <= step <= watcher.status["step"], (step, watcher.points)
        watcher.socket.close()
        status, messages = viewer.stop()
    assert status == 1 and "interrupted at step" in messages, messages


def resident_bytes(pid):
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE")


def test_many():
    """Twenty visitors get their pictures and the run goes on, beside one who wants large pictures and reads nothing."""
    with Viewer(*train("many", *ENDLESS, "--view", "--port", "0", "--view-budget", "0.5")) as viewer:
        watchers = [Watcher(viewer) for _ in range(20)]
        deaf = Watcher(viewer)
        deaf.look(size=(1500, 1000))
        before = resident_bytes(viewer.process.pid)
        threads = []
        for watcher in watchers:
            watcher.look(size=(160, 120))
            threads.append(threading.Thread(target=lambda w=watcher: [w.picture() for _ in range(5)]))
            threads[-1].start()
        for i in range(50):
            deaf.look(size=(1500, 1000 + i))
        for thread in threads:
            thread.join()
        watcher = watchers[0]
        step = watcher.status["step"]
        watcher.wait_for(lambda w: w.status["step"] > step + 5)
        assert resident_bytes(viewer.process.pid) < before + (200 << 20)
        deaf.socket.close()
        watcher.command("stop")
        watcher.until_the_end()
        status, _, messages = finish(viewer)
    assert status == 0, messages


def test_flags():
    for flag in (["--port", "1234"], ["--address", "0.0.0.0"], ["--view-budget", "0.5"]):
        result = subprocess.run(train("x", *flag), capture_output=True, text=True, timeout=TIMEOUT_S)
        assert result.returncode != 0 and "--view" in result.stderr, result
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = subprocess.run(train("x", *OPTIONS, "--steps", "300", "--view", "--port", str(taken.getsockname()[1])), capture_output=True,
                                text=True, timeout=TIMEOUT_S)
    assert result.returncode == 1 and "--port" in result.stderr, result
    assert not os.path.exists("x")


work = tempfile.mkdtemp()
try:
    os.chdir(work)
    subprocess.run([stipple, "synth", "-o", "scene", "--views", "10", "--size", "64x48"], check=True, capture_output=True,
                   timeout=TIMEOUT_S)
    test_flags()
    test_bits()
    test_many()
    test_stop_and_resume()
finally:
    os.chdir("/")
    shutil.rmtree(work)
print("ok")
