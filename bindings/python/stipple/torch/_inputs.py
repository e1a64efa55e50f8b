# SPDX-License-Identifier: Apache-2.0
"""The tensors that rasterize() is given: what is asked of them, and one camera's share of them."""
from __future__ import annotations

from typing import Any, List, Mapping, NamedTuple, Optional, Sequence

import torch

from .._checks import check_shape, sh_degree_of
from ._tensors import backend_of, check_tensor


class Parameters(NamedTuple):
    """Of the Gaussians, the same for all cameras. Either quats and scales or covariances are None."""

    means: torch.Tensor
    quats: Optional[torch.Tensor]
    scales: Optional[torch.Tensor]
    opacities: torch.Tensor
    covariances: Optional[torch.Tensor]


class Shot(NamedTuple):
    """What one camera adds. sh_degree is None where colors are plain colours."""

    colors: torch.Tensor
    sh_degree: Optional[int]
    pose: torch.Tensor
    K: torch.Tensor
    background: torch.Tensor


class Checks:
    """Complaints by the names that the caller knows, and about tensors that are not where the means are."""

    def __init__(self, means: Any, backend: Optional[str], names: Mapping[str, str]) -> None:
        self._names = names
        self.dtype = torch.float64 if backend == "reference" else torch.float32
        name = self.name("means")
        check_tensor(name, means, ("N", 3), self.dtype, has_reference=not names)
        if backend == "reference":
            if means.device.type != "cpu":
                raise ValueError(f'{name} is on {means.device}; backend="reference" works on the host')
        elif backend not in (None, backend_of(means, name).split(":")[0]):
            raise ValueError(f"{name} is on {means.device}, which is not where the backend {backend} works")
        self.means = means

    def name(self, of: str) -> str:
        """As the caller knows it."""
        return self._names.get(of, of)

    def tensor(self, of: str, value: Any, wanted: Sequence[Any], may_be_on_host: bool = False) -> None:
        """TypeError or ValueError unless it is such a tensor. What the library wants on the host may be there."""
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
    """All but colours."""
    n = len(checks.means)
    checks.tensor("opacities", opacities, (n,))
    if covariances is None:
        checks.tensor("quats", quats, (n, 4))
        checks.tensor("scales", scales, (n, 3))
    elif quats is not None or scales is not None:
        raise ValueError("covariances go in place of quats and scales: give None for those")
    else:
        checks.tensor("covariances", covariances, (n, 6))
    return Parameters(checks.means, quats, scales, opacities, covariances)


def check_shots(
    checks: Checks, colors: Any, poses: Any, K: Any, background: Optional[torch.Tensor]
) -> List[Shot]:
    """One for each camera."""
    _check_matrices(checks, "camera_from_world", poses, ((4, 4), (3, 4)))
    _check_matrices(checks, "K", K, ((3, 3),))
    if poses.ndim == 2:
        poses = poses[None]
    count = len(poses)
    if count == 0:
        raise ValueError(f"{checks.name('camera_from_world')} has no cameras")
    Ks = K.expand(count, 3, 3) if K.ndim == 2 else K
    if len(Ks) != count:
        raise ValueError(f"there must be as many {checks.name('K')} as {checks.name('camera_from_world')}, or one")
    if background is None:
        background = torch.zeros(3, dtype=checks.dtype)
    is_one = not isinstance(background, torch.Tensor) or background.ndim != 2
    checks.tensor("background", background, (3,) if is_one else (count, 3), may_be_on_host=True)
    backgrounds = background.expand(count, 3) if is_one else background
    each = list(colors) if isinstance(colors, (list, tuple)) else [colors] * count
    if len(each) != count:
        raise ValueError(f"there are {checks.name('colors')} for {len(each)} cameras, but {count} cameras")
    degrees = [_check_colors(checks, c) for c in each]
    return [Shot(each[i], degrees[i], poses[i], Ks[i], backgrounds[i]) for i in range(count)]


def _check_colors(checks: Checks, colors: Any) -> Optional[int]:
    """The degree of spherical harmonics, or None where they are plain colours."""
    is_sh = isinstance(colors, torch.Tensor) and colors.ndim == 3
    n = len(checks.means)
    checks.tensor("colors", colors, (n, "K", 3) if is_sh else (n, 3))
    return sh_degree_of(checks.name("colors"), colors.shape[1]) if is_sh else None


def _check_matrices(checks: Checks, name: str, value: Any, shapes: tuple) -> None:
    """One, or several."""
    if isinstance(value, torch.Tensor) and (tuple(value.shape[-2:]) not in shapes or value.ndim not in (2, 3)):
        check_shape(checks.name(name), value.shape, shapes[0])
    checks.tensor(name, value, getattr(value, "shape", shapes[0]), may_be_on_host=True)
