# SPDX-License-Identifier: Apache-2.0
"""The stages of the pipeline."""
from __future__ import annotations

import numpy as np
import pytest
from conftest import camera, cloud, relative_error, usable_backends

import stipple
from stipple import stages

BACKGROUND = {"background": (0.1, 0.2, 0.3)}


def run(gaussians, photo, backend):
    c = camera()
    projection = stages.project(gaussians, c, backend=backend, **BACKGROUND)
    bins = stages.bin(projection, c, **BACKGROUND)
    frame = stages.blend(projection, bins, c, **BACKGROUND)
    value, _, dL_dframe = stages.loss(frame, photo)
    dL_dsplat = stages.blend_backward(projection, bins, c, frame, dL_dframe, absolute=True, **BACKGROUND)
    gradients, dL_dcamera = stages.project_backward(gaussians, c, projection, dL_dsplat, **BACKGROUND)
    return projection, bins, frame, value, dL_dsplat, gradients, dL_dcamera


@pytest.fixture(name="photo")
def make_photo():
    return np.random.default_rng(3).integers(0, 256, (40, 48, 3)).astype(np.uint8)


@pytest.mark.parametrize("backend", usable_backends())
def test_stages_render_and_differentiate(backend, photo):
    g = cloud(200, 2)
    projection, bins, frame, value, dL_dsplat, gradients, dL_dcamera = run(g, photo, backend)
    assert np.array_equal(
        stages.planes(frame).transpose(1, 2, 0), stipple.render(g, camera(), backend=backend, **BACKGROUND).color
    )
    assert projection.splat.shape == (200, 16) and dL_dsplat.splat.shape == (200, 10)
    assert bins.column_count == 3 and bins.row_count == 3
    begin = bins.slot_begin_from_tile
    assert begin[0] == 0 and begin[-1] == len(bins.gaussian_from_slot)
    depth = projection.splat[:, stages.SPLAT["depth"]][:, 0]
    for t in range(9):  # nearest first
        assert np.all(np.diff(depth[bins.gaussian_from_slot[begin[t] : begin[t + 1]]]) >= 0)
    # The directional derivative along the gradient is its squared norm.
    step = 1e-3 / np.linalg.norm(gradients.mean)

    def loss_at(distance):
        moved = g.mean + distance * gradients.mean
        return run(stipple.Gaussians(moved, g.log_scale, g.rotation, g.logit_opacity, g.sh), photo, backend)[3]

    assert loss_at(-step) < value
    assert loss_at(step) - loss_at(-step) == pytest.approx(2 * step * np.sum(gradients.mean**2), rel=0.06)
    assert dL_dcamera["camera_from_world"].shape == (3, 4) and np.any(dL_dcamera["focal"] != 0)


def test_arrays_can_be_changed_between_stages(photo):
    g, c = cloud(50), camera()
    projection = stages.project(g, c)
    bins = stages.bin(projection, c)
    splat = projection.splat
    splat[:, stages.SPLAT["color"]] = 0
    projection.splat = splat
    assert np.all(stages.blend(projection, bins, c).color == 0)
    with pytest.raises(ValueError, match="splat cannot change its shape"):
        projection.splat = splat[:10]
    with pytest.raises(ValueError, match="splat cannot change its shape"):
        projection.splat = splat.T.copy()
    with pytest.raises(TypeError, match="splat must be float32"):
        projection.splat = splat.astype(np.float64)
    with pytest.raises(TypeError, match="target must be 8-bit"):
        stages.loss(stages.blend(projection, bins, c), photo / 255)
    with pytest.raises(ValueError, match="target must have the shape"):
        stages.loss(stages.blend(projection, bins, c), photo[:-1])


@pytest.mark.parametrize("backend", usable_backends())
def test_arrays_have_a_row_for_every_gaussian(backend, photo):
    """The library keeps those of the Gaussians that are shown only."""
    g = cloud(200, 2)
    hidden = np.arange(200) % 3 == 0
    mean = g.mean.copy()
    mean[hidden] = (0, 0, -100)
    g = stipple.Gaussians(mean, g.log_scale, g.rotation, g.logit_opacity, g.sh)
    projection, bins, _, _, dL_dsplat, gradients, _ = run(g, photo, backend)
    for rows in (projection.splat, dL_dsplat.splat, dL_dsplat.absolute_mean_px, gradients.mean):
        assert len(rows) == 200 and np.all(rows[hidden] == 0) and np.any(rows[~hidden] != 0)
    in_tiles = bins.gaussian_from_slot
    assert not np.any(hidden[in_tiles])
    bins.gaussian_from_slot = in_tiles
    assert np.array_equal(bins.gaussian_from_slot, in_tiles)
    in_tiles[0] = 3
    with pytest.raises(ValueError, match="gaussian_from_slot holds 3, which the view does not show"):
        bins.gaussian_from_slot = in_tiles
    splat = dL_dsplat.splat
    dL_dsplat.splat = 2 * splat
    assert np.array_equal(dL_dsplat.splat, 2 * splat)
    none_shown = stipple.Gaussians(np.full_like(mean, -100), g.log_scale, g.rotation, g.logit_opacity, g.sh)
    other = stages.project(none_shown, camera(), backend=backend)
    with pytest.raises(ValueError, match="bins was made from another projection"):
        stages.blend(other, bins, camera())


def test_frame_gradient_from_arrays(photo):
    g, c = cloud(80), camera()
    projection = stages.project(g, c)
    bins = stages.bin(projection, c)
    frame = stages.blend(projection, bins, c)
    _, _, by_loss = stages.loss(frame, photo)
    own = stages.frame_gradient(frame, by_loss.color.reshape(3, 40, 48))
    a = stages.blend_backward(projection, bins, c, frame, by_loss).splat
    b = stages.blend_backward(projection, bins, c, frame, own).splat
    assert relative_error(a, b) < 1e-5


def test_adam_descends(photo):
    g, moments, values = cloud(300, 1), stages.Moments(), []
    rates = dict(mean=2e-3, log_scale=1e-2, rotation=1e-3, logit_opacity=3e-2, sh_base=2e-2, sh_rest=1e-3)
    for step in range(1, 31):
        projection, _, _, value, _, gradients, _ = run(g, photo, "cpu")
        g = stages.optimize(g, gradients, projection, moments, step=step, **rates)
        values.append(value)
    assert values[-1] < 0.9 * values[0]


def test_results_that_do_not_belong_together_are_rejected(photo):
    """Each of these combinations would read out of bounds."""
    g, more, c, wide = cloud(50), cloud(60), camera(), camera(96, 40)
    projection, others = stages.project(g, c), stages.project(more, c)
    bins, frame = stages.bin(projection, c), stages.blend(projection, stages.bin(projection, c), c)
    _, _, dL_dframe = stages.loss(frame, photo)
    dL_dsplat = stages.blend_backward(projection, bins, c, frame, dL_dframe)
    with pytest.raises(ValueError, match="projection was made for 48x40 pixels, but the camera has 96x40"):
        stages.bin(projection, wide)
    with pytest.raises(ValueError, match="bins was made for 60 Gaussians, but projection has 50"):
        stages.blend(projection, stages.bin(others, c), c)
    with pytest.raises(ValueError, match="frame was made for 60 Gaussians"):
        stages.blend_backward(projection, bins, c, stages.blend(others, stages.bin(others, c), c), dL_dframe)
    with pytest.raises(ValueError, match="gaussians has 60 Gaussians, but projection has 50"):
        stages.project_backward(more, c, projection, dL_dsplat)
    with pytest.raises(ValueError, match="gaussian_from_slot must hold indices from 0 to 49"):
        bins.gaussian_from_slot = np.full_like(bins.gaussian_from_slot, 2**31)
    begin = bins.slot_begin_from_tile
    begin[-1] += 1000
    with pytest.raises(ValueError, match="slot_begin_from_tile must increase"):
        bins.slot_begin_from_tile = begin
    with pytest.raises(ValueError, match="a depth gradient was given, but the frame has no depth"):
        stages.frame_gradient(frame, np.zeros((3, 40, 48)), depth=np.zeros((40, 48)))
    gradients, _ = stages.project_backward(g, c, projection, dL_dsplat)
    moments = stages.Moments()
    stages.optimize(g, gradients, projection, moments, mean=1e-3)
    with pytest.raises(ValueError, match="moments were made for 50 Gaussians"):
        stages.optimize(more, more, others, moments, mean=1e-3)
