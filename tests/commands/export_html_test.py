#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export_html_test.py STIPPLE HAS_VIEWER [FILE_FAULTS]: what `stipple export-html` writes, and what it refuses. How the page
looks is tested in tests/viewer. FILE_FAULTS is the library that tests/faults/file_faults.cpp describes."""
import base64
import hashlib
import html
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from view_client import TIMEOUT_S, Viewer

stipple = str(Path(sys.argv[1]).resolve())
has_viewer = sys.argv[2] == "ON"
faults = str(Path(sys.argv[3]).resolve()) if len(sys.argv) > 3 and sys.argv[3] else None
page_test = Path(__file__).resolve().parent.parent / "viewer" / "page_test.sh"
os.environ["NO_COLOR"] = "1"


def call(*arguments, **environment):
    return subprocess.run([stipple, *arguments], capture_output=True, text=True, timeout=TIMEOUT_S,
                          env=dict(os.environ, **environment))


def run(*arguments):
    result = call(*arguments)
    assert result.returncode == 0, (arguments, result)
    return result


def error_of(*arguments, status=1):
    """The one line that a command writes when it fails."""
    result = call("export-html", *arguments)
    assert result.returncode == status and result.stderr.count("\n") == 1, result
    assert result.stderr.startswith("stipple: "), result
    return result.stderr


def count_of(path):
    return json.loads(run("info", str(path), "--json").stdout)["count"]


class Page:
    """The parts of a page that the command has written."""

    def __init__(self, path):
        self.bytes = Path(path).read_bytes()
        text = self.bytes.decode()
        assert text.startswith("<!doctype html>") and text.rstrip().endswith("</html>")
        self.policy = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', text)
        self.title = html.unescape(re.search(r"<title>(.*?)</title>", text, re.S)[1])
        self.scripts = re.findall(r"<script([^>]*)>(.*?)</script>", text, re.S)
        assert self.policy.start() < text.index("<script")
        assert len(self.scripts) == text.lower().count("<script") == text.lower().count("</script")
        self.hello = json.loads(self.texts('id="stipple-hello"')[0])
        parts = self.texts('class="stipple-model-0"')
        self.model = b"".join(base64.b64decode(part, validate=True) for part in parts)
        assert len(self.model) == self.hello["models"][0]["bytes"]

    def texts(self, attribute):
        return [text for attributes, text in self.scripts if attribute in attributes]


def export(model, *options):
    run("export-html", model, "-o", "page.html", *options)
    return Page("page.html")


def check_hello():
    page = export("run")
    with Viewer(stipple, "view", "run", "--port", "0") as viewer:
        served = viewer.connect().receive()
    for key in ("mode", "version", "bounds", "start_camera", "render", "title"):
        assert page.hello[key] == served[key], (key, page.hello)
    for key, value in {"streams": False, "backend": None, "views": [], "can_save": False, "folder": None}.items():
        assert page.hello[key] == value, (key, page.hello)
    model = page.hello["models"][0]
    assert (model["name"], model["format"], model["url"], model["lod"]) == ("run", "sog", None, None), model
    assert (page.title, model["count"], model["sh_degree"]) == ("run", count_of("run"), 3)
    Path("got.sog").write_bytes(page.model)
    assert count_of("got.sog") == count_of("run")
    for path in (os.getcwd(), os.path.realpath(".")):
        assert path.encode() not in page.bytes + page.model, f"{path} is in the page"


def check_policy():
    page = export("run")
    script = page.texts("async")
    assert len(script) == 1 and len(page.texts('type="module"')) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    policy = page.policy[1]
    assert f"'sha256-{digest}'" in policy and policy.startswith("default-src 'none'"), policy
    assert "http" not in policy and "'self'" not in policy and "frame-ancestors" not in policy, policy
    subprocess.run([page_test, "page.html"], check=True)


def check_formats():
    """Compact files that browsers read go into the page as they are."""
    for name, expected in {"model.spz": "spz", "model.sog": "sog", "model.splat": "splat", "model.glb": "sog",
                           "model.compressed.ply": "sog", "model.lod": "sog"}.items():
        run("convert", "run/model.ply", name)
        page = export(name)
        assert page.hello["models"][0]["format"] == expected, (name, page.hello["models"])
        assert page.hello["title"] == name and page.hello["bounds"]["up"] == [0, -1, 0], page.hello
        if name == f"model.{expected}":
            assert page.model == Path(name).read_bytes(), name
    assert export("model.spz").bytes == export("model.spz").bytes, "the same input gives the same page"
    # Several parts: base64 of at most 4 MiB each.
    run("convert", *["model.splat"] * 60, "large.splat")
    page = export("large.splat")
    assert page.model == Path("large.splat").read_bytes()
    lengths = [len(part) for part in page.texts('class="stipple-model-0"')]
    assert len(lengths) == 2 and lengths[0] == 4 << 20, lengths
    viewer_bytes = len(export("model.splat").bytes) - os.path.getsize("model.splat") * 4 // 3
    assert abs(len(page.bytes) - viewer_bytes - len(page.model) * 4 / 3) < 1000


def check_titles():
    plain = len(export("run").scripts)
    for title in ("</script><b>bold</b>", "<!--<script>", "</title><script>alert(1)</script>", "&lt;&amp; \"'", "Vase ä\n2"):
        page = export("run", "--title", title)
        assert page.hello["title"] == title == page.title, (title, page.title)
        assert len(page.scripts) == plain, title
        assert page.hello["models"][0]["name"] == "run"
    subprocess.run([stipple, b"export-html", b"run", b"-o", b"page.html", b"--title", b"a\xff"], check=True,
                   stdout=subprocess.DEVNULL)
    assert Page("page.html").title.startswith("a")


def check_scene():
    with_scene = export("run").hello
    os.rename("scene", "moved")
    result = run("export-html", "run", "-o", "page.html")
    assert result.stderr.count("\n") == 1 and "--scene" in result.stderr, result.stderr
    assert Page("page.html").hello["start_camera"] != with_scene["start_camera"]
    assert export("run", "--scene", "moved").hello == with_scene
    os.rename("moved", "scene")
    given = export("model.spz", "--scene", "scene").hello
    assert given["start_camera"] == with_scene["start_camera"] and given["views"] == []


def check_errors():
    Path("old.html").write_text("old")
    assert "no-such-model.ply" in error_of("no-such-model.ply", "-o", "old.html")
    Path("empty.splat").touch()
    assert "empty.splat" in error_of("empty.splat", "-o", "old.html")
    assert "no-such-scene" in error_of("run", "-o", "old.html", "--scene", "no-such-scene")
    assert "no-such-folder does not exist" in error_of("run", "-o", "no-such-folder/page.html")
    os.mkdir("folder.html")
    assert "folder.html: it is a directory" in error_of("run", "-o", "folder.html")
    for name in ("run/model.ply", "page.txt", "page"):
        assert f"{name}: the name of a page must end in .html" in error_of("run", "-o", name)
    error_of("run", status=2)
    error_of("run", "-o", "old.html", "--titel", "x", status=2)

    ply = bytearray(Path("run/model.ply").read_bytes())
    at = ply.index(b"end_header\n") + len(b"end_header\n")
    ply[at:at + 4] = struct.pack("<f", float("nan"))
    Path("nan.ply").write_bytes(ply)
    assert "stipple clean" in error_of("nan.ply", "-o", "old.html")
    with open("huge.splat", "wb") as file:  # a file with a hole
        file.truncate(32 * 10_000_001)
    assert "10000001 Gaussians" in error_of("huge.splat", "-o", "old.html")
    os.remove("huge.splat")
    assert Path("old.html").read_text() == "old", "a failure changes nothing"
    assert not [name for name in os.listdir() if ".part" in name]
    run("export-html", "run", "-o", "old.html")
    assert Page("old.html").title == "run", "another page is replaced"


def check_faults():
    """Lets one operation on a file fail, for every operation in turn, and every large allocation."""
    expected = export("model.spz").bytes

    def export_with(folder, **environment):
        os.makedirs(folder, exist_ok=True)
        return call("export-html", "model.spz", "-o", f"{folder}/page.html", LD_PRELOAD=faults, OMP_NUM_THREADS="1",
                    FAULT_PATHS=f"{folder}:model.spz", **environment)

    assert export_with("counted", FAULT_COUNTS="counts").returncode == 0
    counts = dict(line.split() for line in Path("counts").read_text().splitlines())

    def problem_after(fault):
        kind, number = fault
        folder = f"{kind}_{number}"
        os.makedirs(folder)
        page = Path(folder, "page.html")
        page.write_text("old")
        result = export_with(folder, FAULT=f"{kind}:{number}")
        if result.returncode not in (0, 1) or (result.returncode == 1) != result.stderr.startswith("stipple: "):
            return f"exit status {result.returncode}: {result.stderr}"
        if result.returncode == 1 and kind in ("short", "interrupt"):  # of which programs must notice nothing
            return result.stderr
        if page.read_bytes() != (expected if result.returncode == 0 else b"old"):
            return f"the page is neither the old one nor complete: {result.stderr}"
        return f"left behind: {os.listdir(folder)}" if os.listdir(folder) != ["page.html"] else ""

    cases = [(kind, number) for kind, count in counts.items() for number in range(1, int(count) + 1)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        problems = [(case, problem) for case, problem in zip(cases, pool.map(problem_after, cases)) if problem]
    assert not problems, problems
    assert all(int(counts[kind]) > 0 for kind in ("open", "read", "write", "fsync", "rename", "alloc")), counts
    print(f"{len(cases)} faults: " + ", ".join(f"{count} {kind}" for kind, count in counts.items()))


with tempfile.TemporaryDirectory() as work:
    os.chdir(work)
    run("synth", "-o", "scene", "--size", "96x72", "--views", "9")
    run("train", "scene", "-o", "run", "--steps", "20", "--eval", "--backend", "cpu", "--max-gaussians", "2000")
    if has_viewer:
        check_hello()
        check_policy()
        check_formats()
        check_titles()
        check_scene()
        check_errors()
        if faults:
            check_faults()
    else:
        assert "npm" in error_of("run", "-o", "page.html") and not Path("page.html").exists()
    os.chdir("/")
print("export_html: the pages are right")
