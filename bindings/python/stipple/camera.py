# SPDX-License-Identifier: Apache-2.0
"""Cameras and render options."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Sequence

import numpy as np

from . import _stipple
from ._checks import check_shape, finite_number, float_array, host_array, one_of, positive_int

NEAR_PLANE: float = _stipple.NEAR_PLANE  # default: Gaussians whose mean is nearer are not drawn


@dataclass(eq=False)  # == of arrays is not a single truth value
class Camera:
    """A pinhole camera that looks along +z, with x to the right and y down.

    camera_from_world is 4 x 4 or 3 x 4 and maps points of the world to the camera frame. Lengths are in pixels; (0, 0)
    is the top-left corner of the image, and (0.5, 0.5) the centre of its first pixel.
    """

    camera_from_world: np.ndarray
    fx: float
    fy: float
    cx: float
    cy: float
    width: int
    height: int

    def __post_init__(self) -> None:
        self.camera_from_world = pose_array("camera_from_world", self.camera_from_world)
        self.width = positive_int("width", self.width)
        self.height = positive_int("height", self.height)
        for name in ("fx", "fy", "cx", "cy"):
            setattr(self, name, finite_number(name, getattr(self, name)))
        if not (self.fx > 0 and self.fy > 0):
            raise ValueError(f"fx and fy must be greater than 0, not {self.fx} and {self.fy}")

    def __repr__(self) -> str:
        lengths = ", ".join(f"{name}={getattr(self, name):.6g}" for name in ("fx", "fy", "cx", "cy"))
        return f"Camera({self.width}x{self.height}, {lengths})"

    @staticmethod
    def from_K(camera_from_world: Any, K: Any, width: int, height: int) -> "Camera":
        """Makes a camera from a pose and the 3 x 3 matrix ((fx, 0, cx), (0, fy, cy), (0, 0, 1))."""
        (fx, skew, cx), (other, fy, cy), last = float_array("K", K, 3, 3).tolist()
        if not (is_near([skew, other], [0, 0]) and is_near(last, [0, 0, 1])):
            raise ValueError("K must be ((fx, 0, cx), (0, fy, cy), (0, 0, 1)): skew is not supported")
        return Camera(camera_from_world, fx, fy, cx, cy, width, height)

    @property
    def K(self) -> np.ndarray:
        """The 3 x 3 matrix of intrinsics, ((fx, 0, cx), (0, fy, cy), (0, 0, 1))."""
        return np.array([[self.fx, 0, self.cx], [0, self.fy, self.cy], [0, 0, 1]], dtype=np.float32)


def is_near(numbers: Sequence[float], wanted: Sequence[float]) -> bool:
    """Whether the numbers agree up to rounding. NumPy would take 16 microseconds, which is long beside a GPU frame."""
    return all(abs(a - b) <= 1e-4 for a, b in zip(numbers, wanted))


def pose_array(name: str, value: Any) -> np.ndarray:
    """A pose as a 3 x 4 array. The last row of a 4 x 4 matrix must be (0, 0, 0, 1)."""
    array = host_array(value)
    if array.shape == (4, 4):
        array = float_array(name, array, 4, 4)
        if not is_near(array[3].tolist(), [0, 0, 0, 1]):
            raise ValueError(f"the last row of {name} must be (0, 0, 0, 1)")
        array = array[:3]
    elif array.shape != (3, 4):
        check_shape(name, array.shape, (4, 4))
    return float_array(name, array, 3, 4)


def render_options_text() -> str:
    """One line per render option, from the library's list, for docstrings."""
    return "\n".join(f"    {name} ({default}): {help}" for name, default, help in _stipple.render_options())


def make_view(camera: Camera, *, depth: Optional[str] = None, **options: Any) -> "_stipple.View":
    """The camera and the render options as the library's View."""
    if not isinstance(camera, Camera):
        raise TypeError(f"camera must be a stipple.Camera, not {type(camera).__name__}")
    one_of("depth", depth, (None, "expected", "inverse"))
    if "background" in options:
        options["background"] = host_array(options["background"])
    return _stipple.View(
        camera.camera_from_world.ravel().tolist(),
        [camera.fx, camera.fy],
        [camera.cx, camera.cy],
        camera.width,
        camera.height,
        depth or "",
        options,
    )
