# SPDX-License-Identifier: Apache-2.0
"""Models as arrays and files."""
from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from typing import Any, Tuple, Union

import numpy as np

from . import _stipple
from ._checks import float_array, sh_degree_of

Path = Union[str, "PathLike[str]"]


@dataclass(eq=False)  # == of arrays is not a single truth value
class Gaussians:
    """N Gaussians with the unconstrained parameters that are stored and optimised.

    mean (N, 3); log_scale (N, 3), the logarithms of the standard deviations along the axes; rotation (N, 4),
    quaternions (w, x, y, z) of any length; logit_opacity (N,); sh (N, K, 3), K = 1, 4, 9 or 16 coefficients of red,
    green and blue.
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

    def __repr__(self) -> str:
        return f"Gaussians({len(self)}, sh_degree={self.sh_degree})"

    @property
    def sh_degree(self) -> int:
        """The degree of the spherical harmonics, from 0 to 3."""
        return sh_degree_of("sh", self.sh.shape[1])

    @property
    def scale(self) -> np.ndarray:
        """The standard deviations along the axes, (N, 3)."""
        return np.exp(self.log_scale)

    @property
    def opacity(self) -> np.ndarray:
        """The opacities, from 0 to 1, (N,)."""
        return (1 / (1 + np.exp(-self.logit_opacity.astype(np.float64)))).astype(np.float32)

    def _on_host(self) -> Tuple["_stipple.HostGaussians", "Gaussians"]:
        """The addresses of the arrays, and an object that keeps them alive. The fields are checked again, since they
        may have been assigned to."""
        held = Gaussians(self.mean, self.log_scale, self.rotation, self.logit_opacity, self.sh)
        arrays = (held.mean, held.log_scale, held.rotation, held.logit_opacity, held.sh)
        return _stipple.HostGaussians(len(held), held.sh_degree, [a.ctypes.data for a in arrays]), held


def load_ply(path: Path) -> Gaussians:
    """Reads a 3DGS .ply file."""
    return Gaussians(*_stipple.load_ply(path))


def save_ply(gaussians: Gaussians, path: Path) -> None:
    """Writes the usual 3DGS .ply file. Reading it again gives bit-identical values."""
    where, held = check_gaussians(gaussians)._on_host()
    _stipple.save_ply(where, path)
    del held


def load_model(path: Path) -> Gaussians:
    """Reads a model of any format that Stipple knows. The format follows from the content of the file."""
    return Gaussians(*_stipple.load_model(path))


def save_model(gaussians: Gaussians, path: Path, **options: Any) -> None:
    """Writes a model in the format that the name tells, such as "garden.ply"."""
    where, held = check_gaussians(gaussians)._on_host()
    _stipple.save_model(where, path, options)
    del held


save_model.__doc__ = (save_model.__doc__ or "") + "\n\nOptions:\n" + "\n".join(
    f"    {name} (default {default}): {text}" for name, default, text in _stipple.SAVE_OPTIONS
)


def check_gaussians(value: object, name: str = "gaussians") -> Gaussians:
    """The value. Raises TypeError unless it is a Gaussians object."""
    if not isinstance(value, Gaussians):
        raise TypeError(f"{name} must be stipple.Gaussians, not {type(value).__name__}")
    return value
