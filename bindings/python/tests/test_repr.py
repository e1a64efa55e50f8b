# SPDX-License-Identifier: Apache-2.0
"""The repr of every public object is one short line, however large its arrays are."""
from __future__ import annotations

import numpy as np
import pytest
from conftest import camera, camera_tensors, cloud, tensors
from small_scene import small_model, write_scene

import stipple
from stipple import stages

COUNT, WIDTH, HEIGHT = 12345, 640, 480


def check(thing, expected=None):
    text = repr(thing)
    assert "\n" not in text and len(text) < 120, text
    if expected is not None:
        assert text == expected


def test_model_camera_and_image():
    g, c = cloud(COUNT, 3), camera(WIDTH, HEIGHT)
    check(g, "Gaussians(12345, sh_degree=3)")
    check(c, "Camera(640x480, fx=768, fy=768, cx=320, cy=241)")
    check(stipple.Camera(np.eye(4), 1234.56789, 1e-7, -1e30, 1 / 3, 65536, 65536))
    check(stipple.render(g, c), "Rendering(640x480, color, alpha)")
    check(stipple.render(g, c, depth="inverse"), "Rendering(640x480, color, alpha, depth)")


def test_devices():
    for info in stipple.devices():
        check(info)
    check(stipple.DeviceInfo("cuda:1", "NVIDIA H200", ""), "DeviceInfo('cuda:1', NVIDIA H200)")
    check(stipple.DeviceInfo("cuda", "", "no\ndriver " * 100))


def test_scene_and_trainer(tmp_path):
    folder = tmp_path / ("a very long name" * 10)
    write_scene(small_model(), folder)
    scene = stipple.load_scene(folder)
    check(scene)
    assert repr(scene).endswith(", 12 views, 300 points)")
    check(scene.points, "Points(300)")
    check(scene.views[0], "SceneView('00.png', 48x40, test)")
    check(scene.views[1], "SceneView('01.png', 48x40)")
    trainer = stipple.Trainer(scene, steps=5, eval=True, backend="cpu")
    report = trainer.step()
    check(report)
    assert repr(report).startswith("StepReport(step=1, loss=")
    check(trainer, "Trainer(step 1 of 5, cpu)")
    evaluation = trainer.evaluate()
    check(evaluation, f"Evaluation(psnr={evaluation.psnr:.4f}, ssim={evaluation.ssim:.5f}, 2 views)")


def test_stages():
    g, c = cloud(COUNT, 1), camera(WIDTH, HEIGHT)
    projection = stages.project(g, c, backend="cpu")
    bins = stages.bin(projection, c)
    frame = stages.blend(projection, bins, c)
    _, _, dL_dframe = stages.loss(frame, np.zeros((HEIGHT, WIDTH, 3), np.uint8))
    dL_dsplat = stages.blend_backward(projection, bins, c, frame, dL_dframe)
    check(projection, "Projection(12345 Gaussians, 640x480)")
    check(bins, f"TileBins(40x30 tiles, {len(bins.gaussian_from_slot)} slots)")
    check(frame, "Frame(640x480, color)")
    check(dL_dframe, "FrameGradient(640x480)")
    check(dL_dsplat, "SplatGradient(12345 Gaussians)")
    moments = stages.Moments()
    check(moments, "Moments()")
    gradients, _ = stages.project_backward(g, c, projection, dL_dsplat)
    stages.optimize(g, gradients, projection, moments, mean=1e-3)
    check(moments, "Moments(12345 Gaussians)")


def test_torch():
    torch = pytest.importorskip("torch")
    import stipple.torch as st
    from stipple.compat.inria import GaussianRasterizationSettings, GaussianRasterizer

    everything, (pose, K) = tensors(cloud(COUNT, 1)), camera_tensors(camera(WIDTH, HEIGHT))
    result = st.rasterize(*everything, pose, K, WIDTH, HEIGHT, depth="expected")
    check(result, "Rasterized(640x480, color, alpha, depth)")
    check(result.info, "Info(12345 Gaussians)")
    both = st.rasterize(*everything, pose.expand(2, 4, 4), K, WIDTH, HEIGHT, features=torch.rand(COUNT, 5))
    check(both, "Rasterized(2 x 640x480, color, alpha, features)")
    check(both.info, "Info(12345 Gaussians, 2 cameras)")
    settings = GaussianRasterizationSettings(
        HEIGHT, WIDTH, 0.5, 0.4, torch.zeros(3), 1.0, torch.eye(4), torch.eye(4), 3, torch.zeros(3), False, False
    )
    check(settings, "GaussianRasterizationSettings(640x480, sh_degree=3)")
    check(GaussianRasterizer(settings))
