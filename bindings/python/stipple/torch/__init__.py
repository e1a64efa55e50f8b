# SPDX-License-Identifier: Apache-2.0
"""Stipple's kernels as differentiable PyTorch functions on CPU and CUDA tensors, without copies."""
from .rasterize import Info, Rasterized, rasterize
from .ssim_loss import ssim_loss

__all__ = ["Info", "Rasterized", "rasterize", "ssim_loss"]
