# SPDX-License-Identifier: Apache-2.0
"""rasterize(): Gaussians to pictures, differentiable by everything that goes in."""
from __future__ import annotations

from functools import cached_property
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import torch

from .._checks import one_of, positive_int
from ..camera import render_options_text
from ._function import RasterizeFunction, Settings
from ._inputs import Checks, Parameters, Shot, check_parameters, check_shots
from ._reference import ReferenceFunction


class Info:
    """What is known of every Gaussian on the way; with several cameras, of each. Worked out when it is looked at."""

    def __init__(self, places: torch.Tensor, is_ours: bool, splats: torch.Tensor) -> None:
        self._places, self._is_ours = places, is_ours
        self._splats = splats  # rows of 16 numbers, those of the library's ProjectedSplat

    def _seen(self, columns: Any) -> torch.Tensor:
        """Zero where a Gaussian is not seen: what is there means nothing."""
        values, seen = self._splats[..., columns], self._splats[..., 5] > 0
        zero = torch.zeros((), dtype=values.dtype, device=values.device)
        return torch.where(seen if values.ndim == seen.ndim else seen[..., None], values, zero)

    @cached_property
    def means2d(self) -> torch.Tensor:
        """(N, 2), the means in pixels. They get the gradient by a Gaussian's place on the screen as their .grad, and
        with absgrad its sum without signs as .absgrad."""
        values = self._seen(slice(0, 2))
        if not self._is_ours:
            return values
        with torch.no_grad():
            self._places.copy_(values)
        return self._places

    @cached_property
    def radii(self) -> torch.Tensor:
        """(N, 2), half the sides of the box that a Gaussian is seen in, in pixels; 0 where it is not."""
        return self._seen(slice(11, 13)).ceil()

    @cached_property
    def depths(self) -> torch.Tensor:
        """(N,), z in the camera's frame."""
        return self._seen(10)

    @cached_property
    def conics(self) -> torch.Tensor:
        """(N, 3), inverses of the covariances in the picture, as xx, xy, yy."""
        return self._seen(slice(2, 5))

    @cached_property
    def opacities(self) -> torch.Tensor:
        """(N,), as blended."""
        return self._seen(5)


class _Pictures(NamedTuple):
    color: torch.Tensor
    alpha: torch.Tensor
    depth: Optional[torch.Tensor]
    info: Info


class Rasterized(_Pictures):
    """color (height, width, 3) over the background, alpha and depth (height, width); with several cameras, one more
    dimension in front. depth is None where it was not asked for. It unpacks into these four; features (height, width, C)
    come besides, and are None where none were given."""

    features: Optional[torch.Tensor] = None


def rasterize(
    means: torch.Tensor,
    quats: Optional[torch.Tensor],
    scales: Optional[torch.Tensor],
    opacities: torch.Tensor,
    colors: Union[torch.Tensor, Sequence[torch.Tensor]],
    camera_from_world: torch.Tensor,
    K: torch.Tensor,
    width: int,
    height: int,
    *,
    background: Optional[torch.Tensor] = None,
    covariances: Optional[torch.Tensor] = None,
    depth: Optional[str] = None,
    means2d: Optional[torch.Tensor] = None,
    features: Optional[torch.Tensor] = None,
    absgrad: bool = False,
    backend: Optional[str] = None,
    _names: Optional[Mapping[str, str]] = None,
    **options: Any,
) -> Rasterized:
    """Gaussians to a picture, differentiable by every tensor.

    means (N, 3); quats (N, 4), (w, x, y, z) of any length; scales (N, 3), the standard deviations; opacities (N,),
    from 0 to 1; colors (N, 3), or spherical harmonics (N, K, 3) with K = 1, 4, 9 or 16. camera_from_world (4, 4) or
    (3, 4) looks along +z; K is ((fx, 0, cx), (0, fy, cy), (0, 0, 1)) in pixels, the first pixel's centre being
    (0.5, 0.5). With camera_from_world (C, 4, 4) there are C pictures; K may then be (C, 3, 3), and colors a list with
    those for each.

    background (3,) or (C, 3) is black if not given. covariances (N, 6), as xx, xy, xz, yy, yz, zz, go in place of quats
    and scales, which are then None. depth is None, "expected" or "inverse": the sum of depths, or of their inverses,
    each times what it adds to alpha. means2d (N, 2) or (C, N, 2) is a tensor of your own to get the gradient by places
    on the screen, in place of info.means2d; its values do not matter. features (N, C), any number of channels, are
    blended as the colours are, over a background of zeros, into the result's features; absgrad leaves their share out.

    Tensors are all on one device; camera_from_world, K and background may also be on the host, which saves a wait.
    backend is that of the device; "reference" is slow and in float64, for checks. The picture is needed on the way
    back: to change it in place is an error, which backward() reports. Further options of a picture:

"""
    one_of("backend", backend, (None, "cpu", "cuda", "reference"))
    one_of("depth", depth, (None, "expected", "inverse"))
    if absgrad and backend == "reference":
        raise ValueError('absgrad is not there with backend="reference"')
    checks = Checks(means, backend, _names or {})
    parameters = check_parameters(checks, quats, scales, opacities, covariances)
    shots = check_shots(checks, colors, camera_from_world, K, background)
    if features is not None:
        checks.tensor("features", features, (len(means), "C"))
        if features.shape[1] == 0:
            raise ValueError("features must have at least one channel; give None for none")
    is_batch = camera_from_world.ndim == 3
    places, absolute = _places(checks, parameters, shots, is_batch, means2d, absgrad)
    function = ReferenceFunction if backend == "reference" else RasterizeFunction
    pictures, splats, blended = [], [], []
    for i, shot in enumerate(shots):
        settings = Settings(
            positive_int("width", width),
            positive_int("height", height),
            shot.sh_degree or 0,
            depth,
            options,
            None if absolute is None else absolute.view(len(shots), -1, 2)[i],
        )
        place = places[i] if is_batch else places
        planes, alpha, z, splat, extra = _draw(function, parameters, shot, place, features, settings)
        pictures.append((planes.permute(1, 2, 0), alpha, z))
        splats.append(splat)
        blended.append(None if extra is None else extra.permute(1, 2, 0))
    if not is_batch:
        result = Rasterized(*pictures[0], Info(places, means2d is None, splats[0]))
        result.features = blended[0]
        return result
    stacked = [None if parts[0] is None else torch.stack(parts) for parts in zip(*pictures)]
    result = Rasterized(*stacked, Info(places, means2d is None, torch.stack(splats)))
    result.features = None if features is None else torch.stack(blended)
    return result


rasterize.__doc__ = (rasterize.__doc__ or "") + render_options_text()


def _draw(
    function: Any,
    p: Parameters,
    shot: Shot,
    places: torch.Tensor,
    features: Optional[torch.Tensor],
    settings: Settings,
) -> Tuple[Any, ...]:
    is_sh = shot.sh_degree is not None
    return function.apply(
        p.means,
        p.quats,
        p.scales,
        p.opacities,
        shot.colors if is_sh else None,
        None if is_sh else shot.colors,
        p.covariances,
        shot.pose,
        shot.K,
        shot.background,
        places,
        features,
        settings,
    )


def _places(
    checks: Checks,
    parameters: Parameters,
    shots: Sequence[Shot],
    is_batch: bool,
    given: Optional[torch.Tensor],
    absgrad: bool,
) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """What gets the gradient by places on the screen, and what gets its sum without signs."""
    n = len(parameters.means)
    shape = (len(shots), n, 2) if is_batch else (n, 2)
    if given is not None:
        checks.tensor("means2d", given, shape)
    tensors = [*parameters, given] + [t for shot in shots for t in shot]
    wants_grad = torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in tensors)
    like = dict(dtype=parameters.means.dtype, device=parameters.means.device)
    # Values of our own come when they are looked at.
    places = torch.empty(shape, requires_grad=wants_grad, **like) if given is None else given
    if not (absgrad and wants_grad):
        return places, None
    places.absgrad = torch.zeros(shape, **like)
    return places, places.absgrad
