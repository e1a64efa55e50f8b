#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""view_test.py STIPPLE: what `stipple view` serves. The page itself is tested in tests/viewer."""
import base64
import json
import math
import os
import shutil
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from view_client import TIMEOUT_S, Viewer

stipple = str(Path(sys.argv[1]).resolve())
os.environ["NO_COLOR"] = "1"


def run(*arguments):
    return subprocess.run([stipple, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S, check=True).stdout


def error_of(*arguments):
    """The message of a command that must fail because of something outside the program."""
    result = subprocess.run([stipple, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S)
    assert result.returncode == 1, result
    return result.stderr


def view(*arguments):
    return Viewer(stipple, "view", "--port", "0", "--backend", "cpu", *arguments)


def size_of_jpeg(jpeg):
    assert jpeg[:2] == b"\xff\xd8", jpeg[:16]
    at = 2
    while jpeg[at + 1] not in (0xC0, 0xC2):  # the start of a frame
        at += 2 + struct.unpack(">H", jpeg[at + 2:at + 4])[0]
    height, width = struct.unpack(">HH", jpeg[at + 5:at + 9])
    return width, height


def count_of(path):
    return json.loads(run("info", str(path), "--json"))["count"]


def check_hello(hello):
    assert (hello["type"], hello["mode"], hello["title"]) == ("hello", "model", "run"), hello
    model = hello["models"][0]
    assert model["count"] == count_of("run/model.ply"), model
    assert (model["url"], model["format"], model["sh_degree"]) == ("model/0", "ply", 3), model
    assert model["bytes"] == os.path.getsize("run/model.ply"), model
    assert [v["name"] for v in hello["views"]] == sorted(os.listdir("scene/images")), hello["views"]
    assert [v["is_test"] for v in hello["views"]] == [i % 8 == 0 for i in range(len(hello["views"]))]
    assert hello["start_camera"] in [v["camera"] for v in hello["views"]]
    assert hello["can_save"] and Path(hello["folder"]).samefile("run"), hello["folder"]
    bounds = hello["bounds"]
    assert all(low < middle < high for low, middle, high in zip(bounds["min"], bounds["center"], bounds["max"])), bounds


def check_addresses(viewer, hello):
    status, kind, page = viewer.get("/")
    assert (status, kind) == (200, "text/html; charset=utf-8") and b"<html" in page
    status, _, model = viewer.get("model/0")
    assert status == 200 and model == Path("run/model.ply").read_bytes()
    camera = hello["views"][3]["camera"]
    status, kind, photo = viewer.get(hello["views"][3]["photo"])
    assert (status, kind) == (200, "image/jpeg")
    assert size_of_jpeg(photo) == (camera["width"], camera["height"])
    assert size_of_jpeg(viewer.get("photo/3?size=48")[2]) == (48, 36)
    for missing in ("model/1", "model/x", "photo/99", "nothing"):
        assert viewer.get(missing)[0] == 404, missing
    assert viewer.get("photo/3?size=x")[0] == 400


def camera_message(camera, serial, **more):
    return {"type": "camera", "serial": serial, "camera": camera, "is_moving": False, "shown": "color", "models": [0],
            "background": [0, 0, 0], "scale_modifier": 1, "sh_degree": 3, **more}


def sharp_picture(socket, message):
    socket.send(message)
    while True:
        header, jpeg = socket.receive_picture()
        assert size_of_jpeg(jpeg) == (header["width"], header["height"]), header
        socket.send({"type": "shown", "serial": header["serial"]})
        if header["serial"] == message["serial"] and header["is_sharp"]:
            assert header["shown"] == message["shown"], header
            return jpeg


def evaluate(scene):
    return {v["name"]: v for v in json.loads(run("eval", "run", scene, "--backend", "cpu", "--json"))["views"]}


def check_pictures(socket, hello):
    """The picture takes the place of the photo in a copy of the scene: the score then says how it differs from a render."""
    number, seen = next((i, v) for i, v in enumerate(hello["views"]) if v["is_test"])
    picture = sharp_picture(socket, camera_message(seen["camera"], 1))
    shutil.copytree("scene", "seen")
    Path("seen/images", seen["name"]).write_bytes(picture)
    psnr = evaluate("seen")[seen["name"]]["psnr"]
    assert psnr > 38, psnr
    others = {picture}
    for serial, change in enumerate([{"shown": "depth"}, {"shown": "alpha"}, {"shown": "gaussians"}, {"sh_degree": 0},
                                     {"scale_modifier": 0.5}, {"background": [1, 0, 0]}], start=2):
        others.add(sharp_picture(socket, camera_message(seen["camera"], serial, **change)))
    assert len(others) == 7
    assert sharp_picture(socket, camera_message(seen["camera"], 9)) == picture
    return number, seen["name"]


def check_score(socket, number, name):
    socket.send({"type": "score", "view": number})
    score = socket.receive_type("score")
    expected = evaluate("scene")[name]
    assert (score["view"], score["model"], score["step"]) == (number, 0, None), score
    for key in ("psnr", "ssim"):
        assert abs(score[key] - expected[key]) < 1e-4, (score, expected)


def check_save(viewer, hello):
    low, high = hello["bounds"]["min"], hello["bounds"]["max"]
    box = [*low[:2], hello["bounds"]["center"][2], *high]
    run("convert", "run/model.ply", "cropped.ply", "--crop", ",".join(map(repr, box)))
    status, answer = viewer.post("save", {"name": "edited.ply", "crop": box})
    assert status == 200 and answer["count"] == count_of("cropped.ply"), answer
    assert Path(answer["path"]).samefile("run/edited.ply")
    assert Path("run/edited.ply").read_bytes() == Path("cropped.ply").read_bytes()

    count = hello["models"][0]["count"]
    removed = bytearray((count + 7) // 8)
    removed[0] = 0b101
    edits = {"name": "edited.ply", "removed": base64.b64encode(removed).decode(), "crop": None}
    assert viewer.post("save", edits)[0] == 409
    assert viewer.post("save", {**edits, "overwrite": True}) == (200, {"path": answer["path"], "count": count - 2})

    all_removed = base64.b64encode(b"\xff" * len(removed)).decode()
    for wrong in ({"name": "../edited.ply"}, {"name": "edited.txt"}, {"name": "model.ply", "overwrite": True},
                  {"name": ""}, {"name": "a.ply", "crop": [1, 2, 3]}, {"name": "a.ply", "removed": "AA=="},
                  {"name": "a.ply", "removed": all_removed}, {}):
        status, answer = viewer.post("save", wrong)
        assert status == 400 and answer["error"], (wrong, answer)
    assert not Path("run/a.ply").exists()


def check_run():
    with view("run", "--remote") as viewer:
        socket = viewer.connect()
        hello = socket.receive()
        assert hello["streams"] and hello["backend"].startswith("cpu"), hello
        check_hello(hello)
        check_addresses(viewer, hello)
        check_score(socket, *check_pictures(socket, hello))
        check_save(viewer, hello)
        port = viewer.url.rsplit(":", 1)[1].rstrip("/")
        assert "--port" in error_of("view", "run", "--port", port)
        assert viewer.stop() == (0, "")


def check_bare_model():
    """A format that browsers cannot take, without a scene."""
    run("convert", "run/model.ply", "bare.glb")
    with view("bare.glb") as viewer:
        socket = viewer.connect()
        hello = socket.receive()
        assert not hello["streams"] and hello["backend"] is None and hello["views"] == [], hello
        assert hello["models"][0]["format"] == "spz" and hello["bounds"]["up"] == [0, -1, 0], hello
        Path("got.spz").write_bytes(viewer.get("model/0")[2])
        assert count_of("got.spz") == hello["models"][0]["count"] == count_of("bare.glb")
        socket.send(camera_message(hello["start_camera"], 1))  # ignored
        socket.send({"type": "score", "view": 0})
        assert socket.receive_type("score")["psnr"] is None
        assert viewer.stop() == (0, "")


def save_ball(path, count):
    """A ball of small Gaussians."""
    with open(path, "wb") as file:
        for i in range(count):
            z = 1 - (2 * i + 1) / count
            angle, radius = 2.4 * i, math.sqrt(1 - z * z)
            file.write(struct.pack("<6f8B", radius * math.cos(angle), radius * math.sin(angle), z, 0.01, 0.01, 0.01,
                                   i % 256, 90, 120, 230, 255, 128, 128, 128))


def save_streamed():
    """Two leaves, the first of which does not say its box, and surroundings. Returns that box."""
    save_ball("ball.splat", 50_000)
    run("convert", "ball.splat", "ball.lod")
    run("convert", "run/model.ply", "ball.lod/around/meta.json")
    meta = json.loads(Path("ball.lod/lod-meta.json").read_text())
    assert len(meta["filenames"]) == 2 and len(meta["tree"]["children"]) == 2, meta
    meta["environment"] = "around/meta.json"
    box = meta["tree"]["children"][0].pop("bound")
    Path("ball.lod/lod-meta.json").write_text(json.dumps(meta))
    return box


def check_pieces(viewer, hello, box):
    leaves = json.loads(viewer.get("lod/0")[2])["leaves"]
    assert [[piece["level"] for piece in leaf["levels"]] for leaf in leaves] == [[0, 1], [0, 1], [0]], leaves
    assert sum(leaf["levels"][0]["count"] for leaf in leaves) == hello["models"][0]["count"]
    for corner in ("min", "max"):  # of the coarse level, since no other is known yet
        assert all(abs(x - y) < 0.05 for x, y in zip(leaves[0][corner], box[corner])), (leaves[0], box)
    assert leaves[0]["max"] != leaves[1]["max"] and leaves[2]["min"][0] < 2 * leaves[0]["min"][0], leaves
    pieces = [piece for leaf in leaves for piece in leaf["levels"]]
    with ThreadPoolExecutor(4) as visitors:  # several at once want the same
        answers = list(visitors.map(viewer.get, [piece["url"] for piece in pieces + pieces]))
    for piece, (status, _, spz), again in zip(pieces, answers, answers[len(pieces):]):
        assert (status, spz) == (200, again[2]), piece
        Path("piece.spz").write_bytes(spz)
        assert count_of("piece.spz") == piece["count"], piece
    for missing in ("lod/1", "lod/x", "lod/0/3/0", "lod/0/2/1", "lod/0/0", "lod/0/0/0/0", "lod/0/0/-1", "lod/", "model/0"):
        assert viewer.get(missing)[0] == 404, missing


def check_streamed():
    box = save_streamed()
    with view("ball.lod", "--scene", "scene") as viewer:
        socket = viewer.connect()
        hello = socket.receive()
        model = hello["models"][0]
        assert (model["lod"], model["url"], model["sh_degree"]) == ("lod/0", None, 3), model
        assert model["count"] == count_of("ball.lod") == 50_000 + count_of("run/model.ply"), model
        bounds = hello["bounds"]
        assert all(-1.1 < low < -0.8 and 0.8 < high < 1.1 for low, high in zip(bounds["min"], bounds["max"])), bounds
        check_pieces(viewer, hello, box)
        socket.send({"type": "score", "view": 0})
        assert socket.receive_type("score")["psnr"] > 1  # of the whole model
        crop = [-1, -1, -1, 0, 1, 1]
        run("convert", "ball.lod", "half.ply", "--crop=" + ",".join(map(str, crop)))
        assert viewer.post("save", {"name": "saved.ply", "crop": crop})[1]["count"] == count_of("half.ply")
        assert Path("saved.ply").read_bytes() == Path("half.ply").read_bytes()
    with view("ball.lod", "--remote") as viewer:
        model = viewer.connect().receive()["models"][0]
        assert (model["lod"], model["count"]) == (None, 50_000 + count_of("run/model.ply")), model
        assert viewer.get("lod/0")[0] == 404
    with view("ball.lod") as viewer:
        Path("ball.lod/0_0/quats.webp").unlink()
        status, kind, sentence = viewer.get("lod/0/0/0")
        assert (status, kind) == (500, "text/plain; charset=utf-8") and b"quats.webp" in sentence, (status, sentence)
        assert viewer.get("lod/0/0/1")[0] == 200
        assert viewer.stop() == (0, "")
    Path("ball.lod/0_0/meta.json").unlink()
    assert "0_0/meta.json" in error_of("view", "ball.lod")


def check_compare():
    run("train", "scene", "-o", "short", "--steps", "1", "--eval", "--backend", "cpu", "--max-gaussians", "2000")
    with Viewer(stipple, "compare", "run", "short", "--view", "--port", "0", "--backend", "cpu") as viewer:
        assert "PSNR" in viewer.output, viewer.output  # the table comes first
        socket = viewer.connect()
        hello = socket.receive()
        assert (hello["mode"], hello["streams"], hello["can_save"]) == ("compare", True, False), hello
        assert [m["name"] for m in hello["models"]] == ["run", "short"], hello["models"]
        socket.send(camera_message(hello["start_camera"], 5, models=[0, 1]))
        sharp = {}
        while len(sharp) < 2:
            header, jpeg = socket.receive_picture()
            socket.send({"type": "shown", "serial": header["serial"]})
            if header["is_sharp"]:
                sharp[header["model"]] = jpeg
        assert sharp[0] != sharp[1]
        for model in (0, 1):
            assert viewer.get(f"model/{model}")[0] == 200
        socket.send({"type": "score", "view": 0})
        scores = [socket.receive_type("score") for _ in (0, 1)]
        assert [s["model"] for s in scores] == [0, 1] and scores[0]["psnr"] != scores[1]["psnr"], scores
        assert viewer.post("save", {"name": "a.ply"})[0] == 404
        assert viewer.stop() == (0, "")
    Path("alone.ply").write_bytes(Path("run/model.ply").read_bytes())
    with Viewer(stipple, "compare", "alone.ply", "run", "--view", "--port", "0", "--backend", "cpu") as viewer:
        assert viewer.connect().receive()["views"], "the photos of the run are missing"
        assert viewer.stop() == (0, "")
    wrong = subprocess.run([stipple, "compare", "run", "--view"], capture_output=True, text=True)
    assert wrong.returncode == 2 and "--view" in wrong.stderr, wrong


def check_errors():
    assert "no-such-model.ply" in error_of("view", "no-such-model.ply")
    Path("empty.splat").touch()
    assert "empty.splat" in error_of("view", "empty.splat")
    assert "no-such-scene" in error_of("view", "run", "--scene", "no-such-scene")
    Path("scene").rename("moved")
    with view("run") as viewer:
        assert viewer.connect().receive()["views"] == []
        status, messages = viewer.stop()
        assert status == 0 and "--scene" in messages, messages
    with view("run", "--scene", "moved") as viewer:
        assert len(viewer.connect().receive()["views"]) == len(os.listdir("moved/images"))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run("synth", "-o", "scene", "--size", "96x72", "--views", "9")
    run("train", "scene", "-o", "run", "--steps", "20", "--eval", "--backend", "cpu", "--max-gaussians", "2000")
    check_run()
    check_bare_model()
    check_streamed()
    check_compare()
    check_errors()
print("view: what is served is right")
