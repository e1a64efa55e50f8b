# SPDX-License-Identifier: Apache-2.0
"""Rendering, image files, image metrics and the list of devices."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, NamedTuple, Optional

import numpy as np

from . import _stipple
from ._checks import check_shape, image_array, short_text
from .camera import Camera, make_view, render_options_text
from .gaussians import Gaussians, Path, check_gaussians


class Rendering(NamedTuple):
    """color (height, width, 3) over the background, not clamped; alpha and depth (height, width); depth may be None."""

    color: np.ndarray
    alpha: np.ndarray
    depth: Optional[np.ndarray]

    def __repr__(self) -> str:
        height, width = self.alpha.shape
        return f"Rendering({width}x{height}, color, alpha{'' if self.depth is None else ', depth'})"


def render(
    gaussians: Gaussians, camera: Camera, *, depth: Optional[str] = None, backend: str = "best", **options: Any
) -> Rendering:
    """Renders one image. depth is None, "expected" (depth) or "inverse" (expected inverse depth). Render options:

"""
    where, held = check_gaussians(gaussians)._on_host()
    color, alpha, z = _stipple.render(backend, where, make_view(camera, depth=depth, **options))
    del held
    return Rendering(color, alpha, z if depth else None)


render.__doc__ = (render.__doc__ or "") + render_options_text()


def _pair(a: Any, b: Any) -> List[np.ndarray]:
    images = [image_array("a", a), image_array("b", b)]
    check_shape("b", images[1].shape, images[0].shape)
    return images


def psnr(a: Any, b: Any) -> float:
    """Peak signal-to-noise ratio in dB; infinite if the images are equal. Values are 8-bit, or clamped to [0, 1]."""
    return _stipple.psnr(*_pair(a, b))


def ssim(a: Any, b: Any) -> float:
    """Mean structural similarity over the 11 x 11 windows inside the images. Values are 8-bit, or clamped to [0, 1]."""
    return _stipple.ssim(*_pair(a, b))


def load_image(path: Path) -> np.ndarray:
    """Reads a JPEG or PNG file as values from 0 to 1: (height, width) or (height, width, channels)."""
    return _stipple.load_image(path)


def save_png(image: Any, path: Path) -> None:
    """Writes a PNG file. Values are clamped to [0, 1] and rounded to 8 bits; 8-bit images are written unchanged."""
    _stipple.save_png(image_array("image", image), path)


@dataclass(frozen=True)
class DeviceInfo:
    """A device of this build's backends. `problem` says why it cannot be used here, and is empty if it can."""

    name: str
    description: str
    problem: str

    def __repr__(self) -> str:
        state = f"unusable: {short_text(self.problem, 70)}" if self.problem else short_text(self.description, 70)
        return f"DeviceInfo({self.name!r}, {state})"

    @property
    def is_usable(self) -> bool:
        """Whether `backend=name` works here."""
        return not self.problem


def devices() -> List[DeviceInfo]:
    """Lists the devices, the fastest first."""
    return [DeviceInfo(*found) for found in _stipple.devices()]
