# SPDX-License-Identifier: Apache-2.0
"""Scenes: photos with their cameras, and points."""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _stipple
from ._checks import short_text
from .camera import Camera
from .gaussians import Path


class SceneView:
    """A photo: its name, its camera, and whether it is held out as a test view."""

    def __init__(self, inner: "_stipple.SceneView") -> None:
        self._inner = inner
        self.name: str = inner.name
        self.image_path = inner.image_path
        self.is_test: bool = inner.is_test
        values, width, height = inner.camera()
        pose = np.array(values[:12], dtype=np.float32).reshape(3, 4)
        self.camera = Camera(pose, *values[12:], width, height)

    def photo(self) -> np.ndarray:
        """The 8-bit photo (height, width, 3): decoded, upright, undistorted and at the resolution of the camera. The
        colours of an object are multiplied by its alpha()."""
        return self._inner.photo()[0]

    def weight(self) -> Optional[np.ndarray]:
        """The 8-bit weights of the pixels (height, width), or None if all pixels count fully."""
        weight = self._inner.photo()[1]
        return weight if weight.size else None

    def alpha(self) -> Optional[np.ndarray]:
        """The 8-bit alpha of an object's photo (height, width), or None if the photo is opaque."""
        alpha = self._inner.photo()[2]
        return alpha if alpha.size else None

    def __repr__(self) -> str:
        size = f"{self.camera.width}x{self.camera.height}"
        return f"SceneView({short_text(self.name)!r}, {size}{', test' if self.is_test else ''})"


class Points(NamedTuple):
    """position (N, 3) in the world frame, and 8-bit color (N, 3)."""

    position: np.ndarray
    color: np.ndarray

    def __repr__(self) -> str:
        return f"Points({len(self.position)})"


class Scene:
    """The input of training. `problems` lists what was left out or assumed, as pairs of (problem, advice)."""

    def __init__(self, inner: "_stipple.Scene", options: Dict[str, Any]) -> None:
        self._inner = inner
        self._options = options
        self.path = inner.path
        self.format: str = inner.format
        self.views: List[SceneView] = [SceneView(v) for v in inner.views]
        self.points = Points(inner.point_positions(), inner.point_colors())
        self.has_random_points: bool = inner.has_random_points
        self.has_carved_points: bool = inner.has_carved_points
        self.alpha: str = inner.alpha  # how alpha channels are used; "auto" if no photo has one
        self.problems: List[Tuple[str, str]] = inner.problems()

    @property
    def train_views(self) -> List[SceneView]:
        """The views that are not held out."""
        return [v for v in self.views if not v.is_test]

    @property
    def test_views(self) -> List[SceneView]:
        """The held-out views: every 8th, starting with the first, unless the data set has its own split."""
        return [v for v in self.views if v.is_test]

    def __repr__(self) -> str:
        counts = f"{len(self.views)} views, {len(self.points.position)} points"
        return f"Scene({short_text(self.path)!r}, {counts})"


def load_scene(path: Path, **options: Any) -> Scene:
    """Reads a scene of any format that `stipple check` accepts. The options are those of `stipple train` for photos: max_resolution,
    downscale, images, alpha, random_points; and seed, for the random points."""
    for name in options:
        if name != "seed" and name not in _stipple.SCENE_OPTIONS:
            known = ", ".join([*_stipple.SCENE_OPTIONS, "seed"])
            raise TypeError(f"{name} is not an option of load_scene; its options are {known}")
    return Scene(_stipple.load_scene(path, options), options)
