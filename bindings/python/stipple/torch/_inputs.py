# SPDX-License-Identifier: Apache-2.0
"""Checks of the tensors given to rasterize(), and their split by camera."""
from __future__ import annotations

from typing import Any, List, Mapping, NamedTuple, Optional, Sequence

import torch

from .._checks import check_shape, sh_degree_of
from ._tensors import backend_of, check_tensor


class Parameters(NamedTuple):
    """The Gaussians' parameters that all cameras share. Either quats and scales or covariances are None."""

    means: torch.Tensor
    quats: Optional[torch.Tensor]
    scales: Optional[torch.Tensor]
    opacities: torch.Tensor
    covariances: Optional[torch.Tensor]


class Shot(NamedTuple):
    """The inputs of one camera. sh_degree is None if colors are plain colours."""

    colors: torch.Tensor
    sh_degree: Optional[int]
    pose: torch.Tensor
    K: torch.Tensor
    background: torch.Tensor


class Checks:
    """Checks against the type and device of the means, with errors that use the caller's argument names."""

    def __init__(self, means: Any, backend: Optional[str], names: Mapping[str, str]) -> None:
        self._names = names
        self.dtype = torch.float64 if backend == "reference" else torch.float32
        name = self.name("means")
        check_tensor(name, means, ("N", 3), self.dtype, has_reference=not names)
        if backend == "reference":
            if means.device.type != "cpu":
                raise ValueError(f'{name} is on {means.device}, but backend="reference" needs CPU tensors')
        elif backend not in (None, backend_of(means, name).split(":")[0]):
            raise ValueError(f"{name} is on {means.device}, where backend={backend!r} cannot be used")
        self.means = means

    def name(self, of: str) -> str:
        """The caller's name of an argument."""
        return self._names.get(of, of)

    def tensor(self, of: str, value: Any, wanted: Sequence[Any], may_be_on_host: bool = False) -> None:
        """Raises TypeError or ValueError unless the value is a tensor of that shape on the device of the means, or on
        the host where that is allowed."""
        check_tensor(self.name(of), value, wanted, self.dtype, has_reference=not self._names)
        if value.device != self.means.device and not (may_be_on_host and value.device.type == "cpu"):
            means = f"{self.name('means')} is on {self.means.device}"
            raise ValueError(f"{self.name(of)} is on {value.device}, but {means}; move it there")


def check_parameters(
    checks: Checks,
    quats: Optional[torch.Tensor],
    scales: Optional[torch.Tensor],
    opacities: torch.Tensor,
    covariances: Optional[torch.Tensor],
) -> Parameters:
    """Checks everything but the colours."""
    n = len(checks.means)
    checks.tensor("opacities", opacities, (n,))
    if covariances is None:
        checks.tensor("quats", quats, (n, 4))
        checks.tensor("scales", scales, (n, 3))
    elif quats is not None or scales is not None:
        raise ValueError("covariances replace quats and scales: pass None for those")
    else:
        checks.tensor("covariances", covariances, (n, 6))
    return Parameters(checks.means, quats, scales, opacities, covariances)


def check_shots(
    checks: Checks, colors: Any, poses: Any, K: Any, background: Optional[torch.Tensor]
) -> List[Shot]:
    """Checks the inputs that belong to cameras and returns those of each camera."""
    _check_matrices(checks, "camera_from_world", poses, ((4, 4), (3, 4)))
    _check_matrices(checks, "K", K, ((3, 3),))
    if poses.ndim == 2:
        poses = poses[None]
    count = len(poses)
    if count == 0:
        raise ValueError(f"{checks.name('camera_from_world')} has no cameras")
    Ks = K.expand(count, 3, 3) if K.ndim == 2 else K
    if len(Ks) != count:
        names = checks.name("K"), checks.name("camera_from_world")
        raise ValueError(f"{names[0]} has {len(Ks)} matrices, but {names[1]} has {count}")
    if background is None:
        background = torch.zeros(3, dtype=checks.dtype)
    is_one = not isinstance(background, torch.Tensor) or background.ndim != 2
    checks.tensor("background", background, (3,) if is_one else (count, 3), may_be_on_host=True)
    backgrounds = background.expand(count, 3) if is_one else background
    each = list(colors) if isinstance(colors, (list, tuple)) else [colors] * count
    if len(each) != count:
        raise ValueError(f"{checks.name('colors')} has {len(each)} tensors, but there are {count} cameras")
    degrees = [_check_colors(checks, c) for c in each]
    return [Shot(each[i], degrees[i], poses[i], Ks[i], backgrounds[i]) for i in range(count)]


def _check_colors(checks: Checks, colors: Any) -> Optional[int]:
    """Returns the degree of the spherical harmonics, or None for plain colours."""
    is_sh = isinstance(colors, torch.Tensor) and colors.ndim == 3
    n = len(checks.means)
    checks.tensor("colors", colors, (n, "K", 3) if is_sh else (n, 3))
    return sh_degree_of(checks.name("colors"), colors.shape[1]) if is_sh else None


def _check_matrices(checks: Checks, name: str, value: Any, shapes: tuple) -> None:
    """Checks one matrix or a batch of matrices."""
    if isinstance(value, torch.Tensor) and (tuple(value.shape[-2:]) not in shapes or value.ndim not in (2, 3)):
        check_shape(checks.name(name), value.shape, shapes[0])
    checks.tensor(name, value, getattr(value, "shape", shapes[0]), may_be_on_host=True)
