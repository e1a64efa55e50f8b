# SPDX-License-Identifier: Apache-2.0
"""Photographs with the cameras that took them."""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import numpy as np

from . import _stipple
from .camera import Camera
from .gaussians import Path


class View:
    """One photograph: its name, its camera, and whether it is held out for tests."""

    def __init__(self, inner: "_stipple.SceneView") -> None:
        self._inner = inner
        self.name: str = inner.name
        self.image_path = inner.image_path
        self.is_test: bool = inner.is_test
        values, width, height = inner.camera()
        pose = np.array(values[:12], dtype=np.float32).reshape(3, 4)
        self.camera = Camera(pose, *values[12:], width, height)

    def photo(self) -> np.ndarray:
        """(height, width, 3), 8 bits: decoded, upright, undistorted, at the camera's size."""
        return self._inner.photo()[0]

    def weight(self) -> Optional[np.ndarray]:
        """(height, width), 8 bits: how much each pixel counts; None when all count."""
        weight = self._inner.photo()[1]
        return weight if weight.size else None

    def __repr__(self) -> str:
        return f"View({self.name!r}, {self.camera.width}x{self.camera.height})"


class Points(NamedTuple):
    """position (N, 3) in the world, color (N, 3) of 8 bits."""

    position: np.ndarray
    color: np.ndarray


class Scene:
    """What training starts from. `problems` has what was left out or assumed, with what to do about it."""

    def __init__(self, inner: "_stipple.Scene", options: Dict[str, Any]) -> None:
        self._inner = inner
        self._options = options
        self.path = inner.path
        self.format: str = inner.format
        self.views: List[View] = [View(v) for v in inner.views]
        self.points = Points(inner.point_positions(), inner.point_colors())
        self.has_random_points: bool = inner.has_random_points
        self.problems: List[Tuple[str, str]] = inner.problems()

    @property
    def train_views(self) -> List[View]:
        """Those that are not held out."""
        return [v for v in self.views if not v.is_test]

    @property
    def test_views(self) -> List[View]:
        """Every 8th, from the first on, unless the data names its own."""
        return [v for v in self.views if v.is_test]

    def __repr__(self) -> str:
        return f"Scene({str(self.path)!r}, {len(self.views)} views, {len(self.points.position)} points)"


def load_scene(path: Path, **options: Any) -> Scene:
    """Reads a COLMAP or transforms.json scene. Options are those of `stipple train` for photos: max_resolution,
    downscale, images, alpha, random_points; and seed, of the random points."""
    for name in options:
        if name != "seed" and name not in _stipple.SCENE_OPTIONS:
            known = ", ".join([*_stipple.SCENE_OPTIONS, "seed"])
            raise TypeError(f"{name} is not an option of load_scene; its options are {known}")
    return Scene(_stipple.load_scene(path, options), options)
