# SPDX-License-Identifier: Apache-2.0
"""The stages of the pipeline one by one, for study and for tests.

    projection = project(gaussians, camera)
    bins = bin(projection, camera)
    frame = blend(projection, bins, camera)
    value, mean_squared_error, dL_dframe = loss(frame, photo)
    dL_dsplat = blend_backward(projection, bins, camera, frame, dL_dframe)
    gradients, dL_dcamera = project_backward(gaussians, camera, projection, dL_dsplat)
    gaussians = optimize(gaussians, gradients, projection, moments, mean=1.6e-4)

The results of a stage are objects whose arrays can be read and assigned to before the next stage uses them. The render
options (background, antialiased, ...) must be the same for all stages.
"""
from __future__ import annotations

from typing import Any, Dict, Optional, Tuple

import numpy as np

from . import _stipple
from ._checks import check_shape, float_array
from .camera import Camera, make_view
from .gaussians import Gaussians, check_gaussians

Projection = _stipple.Projection  # splat (N, 16): see SPLAT
TileBins = _stipple.TileBins  # slot_begin_from_tile (tiles + 1,), gaussian_from_slot; column_count, row_count
Frame = _stipple.Frame  # planar color (3 * height * width,), transmittance, depth
FrameGradient = _stipple.FrameGradient
SplatGradient = _stipple.SplatGradient  # splat (N, 10): the first ten columns of SPLAT; absolute_mean_px; background
Moments = _stipple.Moments  # Adam's; empty at first

#: Columns of Projection.splat. An opacity of 0 means that the splat was culled; its other columns are undefined, and it
#: cannot be brought back.
SPLAT: Dict[str, slice] = {
    "mean_px": slice(0, 2),
    "conic": slice(2, 5),
    "opacity": slice(5, 6),
    "color": slice(6, 9),
    "depth_channel": slice(9, 10),
    "depth": slice(10, 11),
    "half_extent_px": slice(11, 13),
    "log2_opacity": slice(13, 14),
}


def project(gaussians: Gaussians, camera: Camera, *, backend: str = "best", **options: Any) -> Projection:
    """Projects every Gaussian to a splat on the screen."""
    where, held = check_gaussians(gaussians)._on_host()
    out = _stipple.stage_project(backend, where, make_view(camera, **options))
    del held
    return out


def bin(projection: Projection, camera: Camera, **options: Any) -> TileBins:  # pylint: disable=redefined-builtin
    """Lists the splats that touch each tile of 16 x 16 pixels, nearest first."""
    return _stipple.stage_bin(projection, make_view(camera, **options))


def blend(projection: Projection, bins: TileBins, camera: Camera, **options: Any) -> Frame:
    """Blends the splats front to back."""
    return _stipple.stage_blend(projection, bins, make_view(camera, **options))


def planes(frame: Frame) -> np.ndarray:
    """The colours of a frame as (3, height, width)."""
    return frame.color.reshape(3, frame.height, frame.width)


def loss(
    frame: Frame, target: Any, *, ssim_weight: float = 0.2, weight: Optional[Any] = None
) -> Tuple[float, float, FrameGradient]:
    """Returns (1 - ssim_weight) mean |difference| + ssim_weight (1 - mean SSIM) against an 8-bit photo, the mean
    squared error, and the gradient with respect to the frame. weight (height, width) weighs pixels from 0 to 1."""
    photo = np.asarray(target)
    if photo.dtype != np.uint8:
        raise TypeError(f"target must be 8-bit (uint8), not {photo.dtype}")
    check_shape("target", photo.shape, (frame.height, frame.width, 3))
    weights = np.zeros(0, np.float32) if weight is None else float_array("weight", weight, frame.height, frame.width)
    return _stipple.stage_loss(frame, np.ascontiguousarray(photo), weights, float(ssim_weight))


def frame_gradient(
    frame: Frame, color: Any, alpha: Optional[Any] = None, depth: Optional[Any] = None
) -> FrameGradient:
    """Makes a gradient from arrays: color (3, height, width), accumulated alpha and depth (height, width)."""
    shape = (frame.height, frame.width)
    none = np.zeros(0, np.float32)
    return _stipple.FrameGradient(
        frame,
        float_array("color", color, 3, *shape),
        none if alpha is None else float_array("alpha", alpha, *shape),
        none if depth is None else float_array("depth", depth, *shape),
    )


def blend_backward(
    projection: Projection,
    bins: TileBins,
    camera: Camera,
    frame: Frame,
    dL_dframe: FrameGradient,
    *,
    absolute: bool = False,
    **options: Any,
) -> SplatGradient:
    """Computes the gradient of every splat; with `absolute`, also the sums of the absolute values over the pixels."""
    return _stipple.stage_blend_backward(projection, bins, make_view(camera, **options), frame, dL_dframe, absolute)


def project_backward(
    gaussians: Gaussians, camera: Camera, projection: Projection, dL_dsplat: SplatGradient, **options: Any
) -> Tuple[Gaussians, Dict[str, np.ndarray]]:
    """Computes the gradients of all parameters and of the camera: camera_from_world (3, 4), focal and center."""
    where, held = check_gaussians(gaussians)._on_host()
    gradients, camera_values = _stipple.stage_project_backward(
        where, make_view(camera, **options), projection, dL_dsplat
    )
    del held
    values = np.array(camera_values, dtype=np.float32)
    return Gaussians(*gradients), {
        "camera_from_world": values[:12].reshape(3, 4),
        "focal": values[12:14],
        "center": values[14:],
    }


def optimize(
    gaussians: Gaussians,
    gradients: Gaussians,
    projection: Projection,
    moments: Moments,
    *,
    mean: float = 0,
    log_scale: float = 0,
    rotation: float = 0,
    logit_opacity: float = 0,
    sh_base: float = 0,
    sh_rest: float = 0,
    step: int = 1,
    visible_only: bool = False,
) -> Gaussians:
    """Returns the Gaussians after a step of Adam with these learning rates; updates `moments`. Steps count from 1."""
    if step < 1:
        raise ValueError(f"step must be at least 1, not {step}")
    check_gaussians(gradients, "gradients")
    if gradients.sh.shape != check_gaussians(gaussians).sh.shape:
        raise ValueError("gradients and gaussians must have the same numbers of Gaussians and coefficients")
    where, held = gaussians._on_host()
    there, held_too = gradients._on_host()
    rates = [mean, log_scale, rotation, logit_opacity, sh_base, sh_rest]
    out = _stipple.stage_optimize(where, there, projection, moments, rates, step, visible_only)
    del held, held_too
    return Gaussians(*out)
