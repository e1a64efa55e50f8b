# SPDX-License-Identifier: Apache-2.0
"""The examples run from the command line, learn, and write correct files."""
from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import List

import numpy as np
import pytest
from small_scene import small_model, write_scene

import stipple

pytest.importorskip("torch", reason="the examples need PyTorch")

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def output_of(example: str, *arguments: object) -> str:
    """Runs an example with the stipple package under test and returns its output."""
    package_parent = str(Path(stipple.__file__).absolute().parents[1])  # unresolved: the build tree has links
    path = os.pathsep.join([package_parent, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(EXAMPLES / example), *map(str, arguments)]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def numbers_after(word: str, text: str) -> List[float]:
    return [float(v) for v in re.findall(rf"\b{word} (-?[\d.]+|nan|inf)", text)]


def test_train_minimal(tmp_path):
    write_scene(small_model(), tmp_path / "scene")
    output = output_of(
        "train_minimal.py", tmp_path / "scene", "-o", tmp_path / "model.ply", "--steps", 160, "--device", "cpu"
    )
    losses, counts = numbers_after("loss", output), numbers_after("Gaussians", output)
    assert losses[-1] < 0.6 * losses[0]
    assert counts[0] == 300 and counts[-1] > 310  # one per point at first, then density control adds more
    model = stipple.load_ply(tmp_path / "model.ply")
    assert len(model) == counts[-1] and model.sh_degree == 3
    assert np.abs(model.sh[:, 4:]).max() > 0  # higher degrees were trained, too
    views = stipple.load_scene(tmp_path / "scene").test_views
    scores = [stipple.psnr(stipple.render(model, v.camera, backend="cpu").color, v.photo() / 255) for v in views]
    (printed,) = numbers_after("PSNR", output)
    assert printed == pytest.approx(np.mean(scores), abs=0.02)
    assert printed > 20


def test_train_minimal_uses_its_options(tmp_path):
    write_scene(small_model(), tmp_path / "scene")
    common = [tmp_path / "scene", "-o", tmp_path / "model.ply", "--steps", 3, "--device", "cpu"]
    first, same, other, small = (
        output_of("train_minimal.py", *common, *more)
        for more in (["--seed", 1], ["--seed", 1], ["--seed", 2], ["--max-resolution", 24])
    )
    assert first == same and first != other and first != small


def test_fit_image(tmp_path):
    y, x = np.mgrid[0:60, 0:80] / 80
    disc = ((x - 0.5) ** 2 + (y - 0.4) ** 2 < 0.05)[..., None]
    image = np.where(disc, [0.9, 0.6, 0.1], np.stack([x, y, 1 - x], -1))
    stipple.save_png(image, tmp_path / "image.png")
    output = output_of(
        "fit_image.py", tmp_path / "image.png", "-o", tmp_path / "fitted.png", "--gaussians", 150, "--steps", 100,
        "--size", 40,
    )
    losses = numbers_after("loss", output)
    assert losses[-1] < 0.1 * losses[0]
    fitted = stipple.load_image(tmp_path / "fitted.png")
    assert fitted.shape == (30, 40, 3)
    halved = image.reshape(30, 2, 40, 2, 3).mean((1, 3))
    (printed,) = numbers_after("PSNR", output)
    assert printed > 24
    assert stipple.psnr(fitted, halved) == pytest.approx(printed, abs=0.1)  # up to rounding to 8 bits
