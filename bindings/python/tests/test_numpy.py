# SPDX-License-Identifier: Apache-2.0
"""Models, rendering and image metrics with NumPy."""
from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from conftest import camera, cloud, usable_backends

import stipple

ROOT = Path(__file__).resolve().parents[3]


def test_version_is_that_of_the_library():
    assert f"project(stipple VERSION {stipple.__version__} " in (ROOT / "CMakeLists.txt").read_text()


def test_import_needs_no_torch():
    code = "import sys; sys.modules['torch'] = None; import stipple; print(stipple.devices()[-1].name)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "cpu"


def test_ply_round_trip(tmp_path):
    g = cloud(37, sh_degree=2)
    stipple.save_ply(g, tmp_path / "model.ply")
    again = stipple.load_ply(tmp_path / "model.ply")
    for name in ("mean", "log_scale", "rotation", "logit_opacity", "sh"):
        assert np.array_equal(getattr(g, name), getattr(again, name)), name
    assert again.sh_degree == 2 and len(again) == 37


def test_models_of_any_format(tmp_path):
    g = cloud(37, sh_degree=2)
    stipple.save_model(g, tmp_path / "model.ply", antialiased=True)
    again = stipple.load_model(tmp_path / "model.ply")
    for name in ("mean", "log_scale", "rotation", "logit_opacity", "sh"):
        assert np.array_equal(getattr(g, name), getattr(again, name)), name
    stipple.save_model(g, str(tmp_path / "model.splat"))  # 32 bytes for each, without view-dependent colours
    assert (tmp_path / "model.splat").stat().st_size == 37 * 32
    small = stipple.load_model(tmp_path / "model.splat")
    assert len(small) == 37 and small.sh_degree == 0
    assert np.allclose(sorted(small.mean[:, 0]), sorted(g.mean[:, 0]))
    assert "antialiased (default false)" in stipple.save_model.__doc__
    stipple.save_model(g, tmp_path / "model.spz", spz_version=4, spz_frame="rdf")
    assert (tmp_path / "model.spz").read_bytes()[:4] == b"NGSP"
    assert np.allclose(stipple.load_model(tmp_path / "model.spz").mean, g.mean, atol=1e-3)


def test_saving_names_what_is_wrong(tmp_path):
    with pytest.raises(stipple.Error, match="model.txt: the name of a model must end in one of"):
        stipple.save_model(cloud(3), tmp_path / "model.txt")
    with pytest.raises(TypeError, match="gaussians must be stipple.Gaussians, not str"):
        stipple.save_model("model", tmp_path / "model.ply")
    with pytest.raises(TypeError, match="antialias is not an option of save_model"):
        stipple.save_model(cloud(3), tmp_path / "model.ply", antialias=True)
    with pytest.raises(ValueError, match="antialiased must be true or false, not '3'"):
        stipple.save_model(cloud(3), tmp_path / "model.ply", antialiased=3)
    with pytest.raises(ValueError, match="spz_frame must be rub or rdf, not 'up'"):
        stipple.save_model(cloud(3), tmp_path / "model.spz", spz_frame="up")
    with pytest.raises(stipple.Error, match="missing.spz"):
        stipple.load_model(tmp_path / "missing.spz")
    assert not list(tmp_path.iterdir())


def test_errors_name_the_file_or_backend(tmp_path):
    with pytest.raises(stipple.Error, match="nothing.ply"):
        stipple.load_ply(tmp_path / "nothing.ply")
    (tmp_path / "broken.ply").write_bytes(b"ply\nformat ascii 1.0\n")
    with pytest.raises(stipple.Error, match="broken.ply"):
        stipple.load_ply(tmp_path / "broken.ply")
    with pytest.raises(stipple.Error, match="nowhere"):
        stipple.load_scene(tmp_path / "nowhere")
    with pytest.raises(stipple.Error, match="'mps'"):
        stipple.render(cloud(3), camera(), backend="mps")


def test_render_of_one_gaussian_matches_the_formula():
    c = camera(33, 33)
    c.cx = c.cy = 16.5
    g = stipple.Gaussians([[0, 0, 4]], np.full((1, 3), np.log(0.2)), [[1, 0, 0, 0]], [0.0], np.zeros((1, 1, 3)))
    color, alpha, depth = stipple.render(g, c, background=(0, 0, 1), depth="expected")
    variance = (c.fx * 0.2 / 4) ** 2 + 0.3
    for dx in (0, 3, 5):
        expected = 0.5 * np.exp(-0.5 * dx * dx / variance)
        assert alpha[16, 16 + dx] == pytest.approx(expected, rel=1e-5)
        assert color[16, 16 + dx] == pytest.approx([0.5 * expected, 0.5 * expected, 1 - 0.5 * expected], rel=1e-5)
        assert depth[16, 16 + dx] == pytest.approx(4 * expected, rel=1e-5)


@pytest.mark.parametrize("backend", usable_backends())
def test_backends_agree(backend):
    a = stipple.render(cloud(500, 3), camera(), backend="cpu", depth="inverse")
    b = stipple.render(cloud(500, 3), camera(), backend=backend, depth="inverse")
    for x, y in zip(a, b):
        assert np.allclose(x, y, atol=1e-4)


def test_no_gaussians_give_the_background():
    none = stipple.Gaussians(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros((0, 4)), np.zeros(0), np.zeros((0, 1, 3)))
    color, alpha, depth = stipple.render(none, camera(), background=(0.25, 0.5, 1))
    assert depth is None and np.all(alpha == 0) and np.all(color == np.float32([0.25, 0.5, 1]))


def test_any_array_layout_is_accepted():
    g = cloud(64)
    odd = stipple.Gaussians(
        np.asfortranarray(g.mean.astype(np.float64)), g.log_scale[::-1][::-1], g.rotation.copy(order="F"),
        g.logit_opacity.tolist(), g.sh.transpose(0, 2, 1).copy().transpose(0, 2, 1),
    )
    assert np.array_equal(stipple.render(g, camera()).color, stipple.render(odd, camera()).color)


@pytest.mark.parametrize(
    "field, value, message",
    [
        ("mean", np.zeros((4, 2)), r"mean must have the shape \(N, 3\), not \(4, 2\)"),
        ("log_scale", np.zeros((3, 3)), r"log_scale must have the shape \(4, 3\), not \(3, 3\)"),
        ("rotation", np.zeros((4, 3)), r"rotation must have the shape \(4, 4\)"),
        ("logit_opacity", np.zeros((4, 1)), r"logit_opacity must have the shape \(4,\), not \(4, 1\)"),
        ("sh", np.zeros((4, 5, 3)), "sh must have 1, 4, 9 or 16 coefficients, not 5"),
        ("mean", np.full((4, 3), "a"), "mean must hold numbers"),
        ("mean", np.zeros((4, 3), complex), "mean must hold numbers, not complex128"),
    ],
)
def test_errors_name_wrong_arrays(field, value, message):
    fields = dict(
        mean=np.zeros((4, 3)), log_scale=np.zeros((4, 3)), rotation=np.zeros((4, 4)), logit_opacity=np.zeros(4),
        sh=np.zeros((4, 1, 3)),
    )
    fields[field] = value
    with pytest.raises((ValueError, TypeError), match=message):
        stipple.Gaussians(**fields)


@pytest.mark.parametrize(
    "change, message",
    [
        (dict(background=(1, 2)), "background must have the shape"),
        (dict(depth="metric"), "depth must be None or 'expected' or 'inverse'"),
        (dict(alpha_max=1.5), "alpha_max must lie between 0 and 1"),
        (dict(scale_modifier=0), "scale_modifier must be greater than 0"),
        (dict(near_plane=float("nan")), "near_plane must be greater than 0"),
    ],
)
def test_errors_name_wrong_options(change, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        stipple.render(cloud(3), camera(), **change)


def test_errors_name_wrong_camera_fields():
    with pytest.raises(ValueError, match=r"camera_from_world must have the shape \(4, 4\), not \(3, 3\)"):
        stipple.Camera(np.eye(3), 1, 1, 0, 0, 8, 8)
    with pytest.raises(ValueError, match="last row of camera_from_world"):
        stipple.Camera(np.ones((4, 4)), 1, 1, 0, 0, 8, 8)
    with pytest.raises(ValueError, match="width must be a whole number from 1"):
        stipple.Camera(np.eye(4), 1, 1, 0, 0, 0, 8)
    with pytest.raises(ValueError, match="fx and fy"):
        stipple.Camera(np.eye(4), 0, 1, 0, 0, 8, 8)
    with pytest.raises(TypeError, match="fx must be a number, not 'a'"):
        stipple.Camera(np.eye(4), "a", 1, 0, 0, 8, 8)
    with pytest.raises(TypeError, match="width must be a whole number"):
        stipple.Camera(np.eye(4), 1, 1, 0, 0, float("inf"), 8)
    with pytest.raises(ValueError, match="skew is not supported"):
        stipple.Camera.from_K(np.eye(4), [[1, 2, 0], [0, 1, 0], [0, 0, 1]], 8, 8)
    assert camera() != camera()
    with pytest.raises(TypeError, match="camera must be a stipple.Camera"):
        stipple.render(cloud(3), np.eye(4))


def test_fields_can_be_assigned():
    g = cloud(5)
    g.mean = np.zeros((4, 3))  # no longer matches the other arrays
    with pytest.raises(ValueError, match="log_scale"):
        stipple.render(g, camera())
    g = cloud(5)
    g.logit_opacity = np.full(5, -30.0)
    assert stipple.render(g, camera()).alpha.max() == 0


def test_metrics():
    random = np.random.default_rng(1)
    a = random.uniform(0.2, 0.8, (40, 30, 3)).astype(np.float32)
    assert stipple.psnr(a, a + 0.1) == pytest.approx(20, abs=1e-4)
    assert stipple.psnr(a, a) == np.inf
    assert stipple.ssim(a, a) == pytest.approx(1)
    assert 0 < stipple.ssim(a, a + random.normal(size=a.shape) * 0.1) < 0.95
    with pytest.raises(ValueError, match=r"b must have the shape \(40, 30, 3\)"):
        stipple.psnr(a, a[:20])
    with pytest.raises(ValueError, match="no pixels"):
        stipple.ssim(a[:0], a[:0])


def test_8_bit_images_are_scaled_to_0_to_1(tmp_path):
    bits = np.random.default_rng(4).integers(0, 256, (20, 30, 3)).astype(np.uint8)
    assert stipple.psnr(bits, bits / 255) > 100 and stipple.ssim(bits, bits / 255) == pytest.approx(1)
    stipple.save_png(bits, tmp_path / "bits.png")
    assert np.array_equal(np.rint(255 * stipple.load_image(tmp_path / "bits.png")), bits)
    with pytest.raises(TypeError, match="a must be 8-bit .uint8. or floating point, not int64"):
        stipple.psnr(bits.astype(np.int64), bits)


def test_gil_is_released():
    """Another thread counts while this one computes."""
    big, ticks, is_over = np.random.default_rng(5).uniform(size=(900, 1200, 3)), [0], threading.Event()

    def count():
        while not is_over.is_set():
            ticks[0] += 1
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    try:
        for work in (lambda: stipple.ssim(big, big), lambda: stipple.render(cloud(60000, 3), camera(800, 600))):
            time.sleep(0.01)
            before, start = ticks[0], time.perf_counter()
            while time.perf_counter() - start < 0.3:
                work()
            assert ticks[0] - before > 10
    finally:
        is_over.set()
        other.join()


def test_png_round_trip(tmp_path):
    a = np.random.default_rng(2).integers(0, 256, (20, 30, 3)) / 255
    stipple.save_png(a, tmp_path / "a.png")
    assert np.allclose(stipple.load_image(tmp_path / "a.png"), a, atol=1e-6)


def test_threads_render_at_the_same_time():
    expected = stipple.render(cloud(3000, 2), camera(160, 120)).color
    wrong, threads = [], []

    def work():
        for _ in range(10):
            if not np.array_equal(stipple.render(cloud(3000, 2), camera(160, 120)).color, expected):
                wrong.append(1)

    for _ in range(4):
        threads.append(threading.Thread(target=work))
        threads[-1].start()
    for t in threads:
        t.join()
    assert not wrong
