# SPDX-License-Identifier: Apache-2.0
"""Every recipe of docs/python.md runs unchanged and does what the page says."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Dict

import numpy as np
import pytest
from small_scene import HEIGHT, WIDTH, small_model, write_scene

import stipple

PAGE = Path(__file__).resolve().parents[3] / "docs" / "python.md"
TEXT = PAGE.read_text(encoding="utf-8")


def recipes() -> Dict[str, str]:
    """The code under each heading."""
    parts = re.split(r"^### (.+)$", TEXT, flags=re.MULTILINE)
    found = {}
    for title, text in zip(parts[1::2], parts[2::2]):
        blocks = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
        if blocks:
            (found[title],) = blocks
    return found


@pytest.fixture(name="run")
def make_run(tmp_path, monkeypatch):
    """Runs a recipe in a folder with the files that the page assumes, and returns its variables."""
    model = small_model()
    stipple.save_ply(model, tmp_path / "model.ply")
    write_scene(model, tmp_path / "scene")
    monkeypatch.chdir(tmp_path)

    def run(title: str) -> Dict[str, Any]:
        code = recipes()[title]
        if "torch" in code:
            pytest.importorskip("torch", reason="this recipe needs PyTorch")
        names: Dict[str, Any] = {"__name__": "recipe"}
        exec(compile(code, f"{PAGE.name}: {title}", "exec"), names)  # pylint: disable=exec-used
        return names

    return run


def test_all_recipes_are_tested():
    assert set(recipes()) == {
        "Render a model",
        "Train a scene",
        "Convert a model, and train on",
        "Differentiate an image",
        "Blend features",
        "Inspect the pipeline",
        "Change one import",
    }
    assert TEXT.count("```python") == 7


def test_render_a_model(run, capsys):
    names = run("Render a model")
    saved = stipple.load_image("image.png")
    assert saved.shape == (120, 160, 3)
    assert np.allclose(saved, names["image"].color.clip(0, 1), atol=1 / 255)
    assert names["image"].alpha.max() > 0.9 and names["image"].alpha.min() == 0  # in the middle; in a corner
    assert "300 Gaussians cover" in capsys.readouterr().out


def test_train_a_scene(run, capsys):
    names = run("Train a scene")
    assert names["again"].done and names["trainer"].steps_done == 60
    losses = [float(v) for v in re.findall(r"loss ([\d.]+)", capsys.readouterr().out)]
    assert len(losses) == 6 and losses[-1] < 0.7 * losses[0]
    saved = stipple.load_ply("trained.ply")
    if names["trainer"].backend == "cpu":  # where the page promises the same bits
        names["trainer"].run()
        for field in ("mean", "log_scale", "rotation", "logit_opacity", "sh"):
            assert np.array_equal(getattr(saved, field), getattr(names["trainer"].gaussians(), field)), field


def test_convert_a_model_and_train_on(run):
    names = run("Convert a model, and train on")
    assert names["trainer"].done and len(stipple.load_model("model.splat")) == len(names["model"])
    assert np.array_equal(stipple.load_ply("better.ply").mean, names["trainer"].gaussians().mean)


def test_differentiate_an_image(run):
    names = run("Differentiate an image")
    wrong = float((names["wrong_pose"] - names["true_pose"]).abs().max())
    assert wrong > 0.04 and float(names["error"]) < 0.1 * wrong


def test_blend_features(run):
    names = run("Blend features")
    assert names["result"].features.shape == (HEIGHT, WIDTH, 8)
    start = float(names["wanted"].square().mean())  # the features start at zero
    assert names["loss"].item() < 0.95 * start


def test_inspect_the_pipeline(run):
    names = run("Inspect the pipeline")
    in_tile, splat = names["in_tile"], names["splat"]
    assert len(in_tile) > 10 and np.all(np.diff(splat["depth"][in_tile, 0]) >= 0)
    first_px = np.array([names["column"], names["row"]]) * 16
    reach_px = splat["half_extent_px"][in_tile]
    assert np.all(splat["mean_px"][in_tile] + reach_px >= first_px)
    assert np.all(splat["mean_px"][in_tile] - reach_px <= first_px + 16)
    rendered = stipple.render(names["gaussians"], names["camera"]).color
    assert np.allclose(stipple.load_image("frame.png"), rendered.clip(0, 1), atol=1 / 255)


def test_table_lists_every_column():
    table = TEXT[TEXT.index("| column of a splat |") :].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(stipple.stages.SPLAT)


def test_change_one_import(run):
    names = run("Change one import")
    model, images = names["model"], names["render_colors"].detach().numpy()
    for camera, image in zip(names["cameras"], images):
        expected = stipple.render(model, camera, alpha_max=0.999, near_plane=0.01).color  # gsplat's constants
        assert np.allclose(image, expected, atol=1e-5)
    assert names["render_alphas"].shape == (2, HEIGHT, WIDTH, 1)
    gradient = names["means"].grad.numpy()
    assert np.isfinite(gradient).all() and np.abs(gradient).max() > 0


def test_page_quotes_a_real_error():
    quoted = re.search(r"`(quats must have the shape [^`]+)`", TEXT)
    torch = pytest.importorskip("torch")
    st = pytest.importorskip("stipple.torch")
    five = torch.ones(5, 3)
    with pytest.raises(ValueError) as raised:
        st.rasterize(five, torch.ones(4, 4), five, torch.ones(5), five, torch.eye(4), torch.eye(3), 8, 8)
    assert quoted and str(raised.value) == quoted.group(1)
