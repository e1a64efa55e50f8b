# SPDX-License-Identifier: Apache-2.0
"""Models as arrays and as files."""
from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Tuple, Union

import numpy as np

from . import _stipple
from ._checks import float_array, sh_degree_of

Path = Union[str, "PathLike[str]"]


@dataclass(eq=False)  # arrays have no one answer to ==
class Gaussians:
    """N Gaussians, as they are stored and optimised: unconstrained.

    mean (N, 3); log_scale (N, 3), of the standard deviations along the axes; rotation (N, 4), quaternions (w, x, y, z)
    of any length; logit_opacity (N,); sh (N, K, 3) with K = 1, 4, 9 or 16 coefficients of red, green and blue.
    """

    mean: np.ndarray
    log_scale: np.ndarray
    rotation: np.ndarray
    logit_opacity: np.ndarray
    sh: np.ndarray

    def __post_init__(self) -> None:
        self.mean = float_array("mean", self.mean, "N", 3)
        n = len(self.mean)
        self.log_scale = float_array("log_scale", self.log_scale, n, 3)
        self.rotation = float_array("rotation", self.rotation, n, 4)
        self.logit_opacity = float_array("logit_opacity", self.logit_opacity, n)
        self.sh = float_array("sh", self.sh, n, "K", 3)
        sh_degree_of("sh", self.sh.shape[1])

    def __len__(self) -> int:
        return len(self.mean)

    @property
    def sh_degree(self) -> int:
        """0 to 3."""
        return sh_degree_of("sh", self.sh.shape[1])

    @property
    def scale(self) -> np.ndarray:
        """Standard deviations along the axes."""
        return np.exp(self.log_scale)

    @property
    def opacity(self) -> np.ndarray:
        """From 0 to 1."""
        return (1 / (1 + np.exp(-self.logit_opacity.astype(np.float64)))).astype(np.float32)

    def _on_host(self) -> Tuple["_stipple.HostGaussians", "Gaussians"]:
        """Where the arrays are, and what keeps them there: fields may have been assigned to since."""
        held = Gaussians(self.mean, self.log_scale, self.rotation, self.logit_opacity, self.sh)
        arrays = (held.mean, held.log_scale, held.rotation, held.logit_opacity, held.sh)
        return _stipple.HostGaussians(len(held), held.sh_degree, [a.ctypes.data for a in arrays]), held


def load_ply(path: Path) -> Gaussians:
    """Reads any 3DGS .ply."""
    return Gaussians(*_stipple.load_ply(path))


def save_ply(gaussians: Gaussians, path: Path) -> None:
    """Writes the usual 3DGS .ply; every bit of every number comes back when it is read again."""
    where, held = check_gaussians(gaussians)._on_host()
    _stipple.save_ply(where, path)
    del held


def check_gaussians(value: object, name: str = "gaussians") -> Gaussians:
    """TypeError unless it is what it should be."""
    if not isinstance(value, Gaussians):
        raise TypeError(f"{name} must be stipple.Gaussians, not {type(value).__name__}")
    return value
