# SPDX-License-Identifier: Apache-2.0
"""Pictures of models, and scores of pictures."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, List, NamedTuple, Optional

import numpy as np

from . import _stipple
from ._checks import check_shape, picture_array
from .camera import Camera, make_view, render_options_text
from .gaussians import Gaussians, Path, check_gaussians


class Rendering(NamedTuple):
    """color (height, width, 3) over the background, not clamped; alpha (height, width); depth likewise, or None."""

    color: np.ndarray
    alpha: np.ndarray
    depth: Optional[np.ndarray]


def render(
    gaussians: Gaussians, camera: Camera, *, depth: Optional[str] = None, backend: str = "best", **options: Any
) -> Rendering:
    """One picture. depth is None, "expected" or "inverse": the latter is the expected inverse depth. Options:

"""
    where, held = check_gaussians(gaussians)._on_host()
    color, alpha, z = _stipple.render(backend, where, make_view(camera, depth=depth, **options))
    del held
    return Rendering(color, alpha, z if depth else None)


render.__doc__ = (render.__doc__ or "") + render_options_text()


def _pair(a: Any, b: Any) -> List[np.ndarray]:
    pictures = [picture_array("a", a), picture_array("b", b)]
    check_shape("b", pictures[1].shape, pictures[0].shape)
    return pictures


def psnr(a: Any, b: Any) -> float:
    """Peak signal-to-noise ratio in dB of values clamped to [0, 1], or of 8 bits; infinite when they are equal."""
    return _stipple.psnr(*_pair(a, b))


def ssim(a: Any, b: Any) -> float:
    """Structural similarity of values clamped to [0, 1], or of 8 bits: windows of 11 x 11 that lie wholly inside."""
    return _stipple.ssim(*_pair(a, b))


def load_image(path: Path) -> np.ndarray:
    """A JPEG or PNG as values from 0 to 1: (height, width) or (height, width, channels)."""
    return _stipple.load_image(path)


def save_png(image: Any, path: Path) -> None:
    """Values are clamped to [0, 1] and rounded to 8 bits; a picture of 8 bits is written as it is."""
    _stipple.save_png(picture_array("image", image), path)


@dataclass(frozen=True)
class DeviceInfo:
    """A backend of this build. `problem` says why it cannot be used here, and is empty when it can."""

    name: str
    description: str
    problem: str

    @property
    def is_usable(self) -> bool:
        """Whether `backend=name` works here."""
        return not self.problem


def devices() -> List[DeviceInfo]:
    """What there is, fastest first."""
    return [DeviceInfo(*found) for found in _stipple.devices()]
