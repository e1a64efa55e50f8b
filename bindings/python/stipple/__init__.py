# SPDX-License-Identifier: Apache-2.0
"""3D Gaussian splatting: train, render and differentiate.

This package needs only NumPy. stipple.torch offers the same kernels as differentiable PyTorch functions, stipple.compat
replaces the rasterizers of two other projects, and stipple.stages runs the pipeline stage by stage.
"""
from . import _stipple, stages
from ._stipple import Error, OutOfMemory
from .camera import Camera
from .gaussians import Gaussians, load_model, load_ply, save_model, save_ply
from .rendering import DeviceInfo, Rendering, devices, load_image, psnr, render, save_png, ssim
from .scene import Points, Scene, SceneView, load_scene
from .trainer import Evaluation, StepReport, Trainer

__version__: str = _stipple.version
__all__ = [
    "Camera",
    "DeviceInfo",
    "Error",
    "Evaluation",
    "Gaussians",
    "OutOfMemory",
    "Points",
    "Rendering",
    "Scene",
    "SceneView",
    "StepReport",
    "Trainer",
    "devices",
    "load_image",
    "load_model",
    "load_ply",
    "load_scene",
    "psnr",
    "render",
    "save_model",
    "save_ply",
    "save_png",
    "ssim",
    "stages",
]
