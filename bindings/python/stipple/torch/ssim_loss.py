# SPDX-License-Identifier: Apache-2.0
"""The loss that training minimises."""
from __future__ import annotations

import math
from typing import Optional

import torch

from .. import _stipple
from .._checks import check_shape
from ._tensors import address, backend_of, check_tensor, dtype_name, packed, stream_of

_RADIUS, _SIGMA = 5, 1.5
_C1, _C2 = 0.01**2, 0.03**2


class _LossFunction(torch.autograd.Function):
    """Value and gradient together, by the library's kernel."""

    @staticmethod
    def forward(ctx, image, target, weight, ssim_weight):
        height, width, _ = image.shape
        planes = packed(image.permute(2, 0, 1))
        photo = packed(target)
        weights = None if weight is None else packed(weight)
        gradient = torch.empty_like(planes)
        value = _stipple.loss(
            backend_of(image, "image"),
            width,
            height,
            address(planes),
            address(photo),
            address(weights),
            ssim_weight,
            address(gradient),
            stream_of(image),
        )
        ctx.save_for_backward(gradient)
        return torch.tensor(value, dtype=torch.float32, device=image.device)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dL_dvalue):
        (gradient,) = ctx.saved_tensors
        return dL_dvalue * gradient.permute(1, 2, 0), None, None, None


def _filtered(planes: torch.Tensor) -> torch.Tensor:
    """Filters each plane with the Gaussian window, zero-padded. Not a convolution, since GPUs compute those in TF32."""
    weights = [math.exp(-(i**2) / (2 * _SIGMA**2)) for i in range(-_RADIUS, _RADIUS + 1)]
    for axis in (-1, -2):
        size = planes.shape[axis]
        wide = torch.nn.functional.pad(planes, (_RADIUS, _RADIUS) if axis == -1 else (0, 0, _RADIUS, _RADIUS))
        parts = (w / sum(weights) * wide.narrow(axis, i, size) for i, w in enumerate(weights))
        planes = sum(parts, torch.zeros_like(planes))
    return planes


def _mean_ssim(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    mean_x, mean_y = _filtered(x), _filtered(y)
    xx = _filtered(x * x) - mean_x**2
    yy = _filtered(y * y) - mean_y**2
    xy = _filtered(x * y) - mean_x * mean_y
    similarity = (2 * mean_x * mean_y + _C1) * (2 * xy + _C2)
    return (similarity / ((mean_x**2 + mean_y**2 + _C1) * (xx + yy + _C2))).mean()


def ssim_loss(
    image: torch.Tensor,
    target: torch.Tensor,
    *,
    ssim_weight: float = 1.0,
    weight: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """(1 - ssim_weight) mean |image - target| + ssim_weight (1 - mean SSIM); training uses ssim_weight = 0.2.

    image is (height, width, 3), with values from 0 to 1. target has the same shape. An 8-bit (uint8) target, such as a
    photo, goes through the library's kernel, which is fast. A target of the image's type goes through PyTorch's own
    functions and is differentiable, too. weight (height, width), from 0 to 1, weighs the pixels of an 8-bit target.
    """
    if not isinstance(image, torch.Tensor) or not isinstance(target, torch.Tensor):
        name = "target" if isinstance(image, torch.Tensor) else "image"
        raise TypeError(f"{name} must be a torch.Tensor")
    if not 0 <= ssim_weight <= 1:
        raise ValueError(f"ssim_weight must be from 0 to 1, not {ssim_weight!r}")
    check_shape("image", image.shape, ("height", "width", 3))
    if image.numel() == 0:
        raise ValueError("image has no pixels")
    if target.device != image.device:
        raise ValueError(f"target is on {target.device}, but image is on {image.device}; move it there")
    if target.dtype == torch.uint8:
        check_tensor("image", image, image.shape, torch.float32)
        check_shape("target", target.shape, image.shape)
        if weight is not None:
            check_tensor("weight", weight, image.shape[:2], torch.float32)
            if weight.device != image.device:
                raise ValueError(f"weight is on {weight.device}, but image is on {image.device}; move it there")
        return _LossFunction.apply(image, target, weight, float(ssim_weight))
    if weight is not None:
        raise ValueError("weight needs an 8-bit (uint8) target")
    if image.dtype not in (torch.float32, torch.float64):
        raise TypeError(f"image must be float32 or float64, not {dtype_name(image.dtype)}")
    check_tensor("target", target, image.shape, image.dtype)
    x, y = image.permute(2, 0, 1), target.permute(2, 0, 1)
    return (1 - ssim_weight) * (x - y).abs().mean() + ssim_weight * (1 - _mean_ssim(x, y))
