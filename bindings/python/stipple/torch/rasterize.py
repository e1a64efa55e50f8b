# SPDX-License-Identifier: Apache-2.0
"""rasterize(): differentiable rendering of Gaussians."""
from __future__ import annotations

from functools import cached_property
from typing import Any, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import torch

from .._checks import one_of, positive_int
from ..camera import render_options_text
from ._function import RasterizeFunction, Settings
from ._inputs import Checks, Parameters, Shot, check_parameters, check_shots
from ._reference import ReferenceFunction
from ._tensors import by_gaussian


_Drawn = Tuple[torch.Tensor, Optional[torch.Tensor]]  # splats in rows, and which Gaussian has which row (by_gaussian)


class Info:
    """The projection of every Gaussian; with several cameras, shapes have a leading dimension for them. Computed on
    first use."""

    def __init__(self, screen_means: torch.Tensor, fills_in: bool, drawn: Sequence[_Drawn]) -> None:
        self._screen_means, self._fills_in = screen_means, fills_in
        self._drawn = drawn  # for each camera

    def __repr__(self) -> str:
        cameras = f", {len(self._drawn)} cameras" if self._screen_means.ndim == 3 else ""
        return f"Info({self._screen_means.shape[-2]} Gaussians{cameras})"

    @cached_property
    def _splats(self) -> torch.Tensor:
        """(N, 16) or (C, N, 16), the library's ProjectedSplat."""
        splats = [splat if at is None else by_gaussian(splat, at, len(splat)) for splat, at in self._drawn]
        return torch.stack(splats) if self._screen_means.ndim == 3 else splats[0]

    def _visible(self, columns: Any) -> torch.Tensor:
        """These columns, with zeros for culled Gaussians, whose columns are undefined."""
        values, visible = self._splats[..., columns], self._splats[..., 5] > 0
        zero = torch.zeros((), dtype=values.dtype, device=values.device)
        return torch.where(visible if values.ndim == visible.ndim else visible[..., None], values, zero)

    @cached_property
    def means2d(self) -> torch.Tensor:
        """(N, 2), the means in pixels. After backward(), .grad is the gradient with respect to these positions; with
        absgrad, .absgrad is the sum of its absolute values over the pixels."""
        values = self._visible(slice(0, 2))
        if not self._fills_in:
            return values
        with torch.no_grad():
            self._screen_means.copy_(values)
        return self._screen_means

    @cached_property
    def radii(self) -> torch.Tensor:
        """(N, 2), half the width and height of each splat's bounding box in pixels; 0 for culled Gaussians."""
        return self._visible(slice(11, 13)).ceil()

    @cached_property
    def depths(self) -> torch.Tensor:
        """(N,), z in the camera frame."""
        return self._visible(10)

    @cached_property
    def conics(self) -> torch.Tensor:
        """(N, 3), the inverse covariances on the screen, as xx, xy, yy."""
        return self._visible(slice(2, 5))

    @cached_property
    def opacities(self) -> torch.Tensor:
        """(N,), the opacities used for blending."""
        return self._visible(5)


class _Images(NamedTuple):
    color: torch.Tensor
    alpha: torch.Tensor
    depth: Optional[torch.Tensor]
    info: Info


class Rasterized(_Images):
    """color (height, width, 3) over the background, alpha and depth (height, width), and info; with several cameras,
    shapes have a leading dimension for them. depth is None unless requested. The result unpacks into these four; the
    attribute features (height, width, C) is None unless features were given."""

    features: Optional[torch.Tensor] = None

    def __repr__(self) -> str:
        *cameras, height, width = self.alpha.shape
        fields = ["color", "alpha"] + [name for name in ("depth", "features") if getattr(self, name) is not None]
        return f"Rasterized({''.join(f'{n} x ' for n in cameras)}{width}x{height}, {', '.join(fields)})"


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
    """Renders Gaussians. The outputs are differentiable with respect to every tensor argument.

    means (N, 3); quats (N, 4), (w, x, y, z) of any length; scales (N, 3), the standard deviations; opacities (N,),
    from 0 to 1; colors (N, 3), or spherical harmonics (N, K, 3) with K = 1, 4, 9 or 16. camera_from_world (4, 4) or
    (3, 4) is the pose of a camera that looks along +z; K is ((fx, 0, cx), (0, fy, cy), (0, 0, 1)) in pixels, and the
    centre of the first pixel is (0.5, 0.5). With camera_from_world (C, 4, 4) there are C images; K may then be
    (C, 3, 3), and colors a list with one tensor per camera.

    background (3,) or (C, 3) is black by default. covariances (N, 6), as xx, xy, xz, yy, yz, zz, replace quats and
    scales, which must then be None. depth is None, "expected" or "inverse": the sum of the depths, or of their
    inverses, each times the splat's contribution to alpha. means2d (N, 2) or (C, N, 2) is a tensor that receives the
    gradient with respect to the screen positions, in place of info.means2d; its values are ignored. features (N, C),
    with any number of channels, are blended like the colours, over zeros, into the result's features; absgrad does not
    include them.

    All tensors must be on one device, but camera_from_world, K and background may be on the host, which avoids waiting
    for the GPU. The backend follows from the device; "reference" computes in float64, slowly, for tests. The backward
    pass needs the image: if it was changed in place, backward() raises an error. Render options:

"""
    one_of("backend", backend, (None, "cpu", "cuda", "reference"))
    one_of("depth", depth, (None, "expected", "inverse"))
    if absgrad and backend == "reference":
        raise ValueError('absgrad is not supported with backend="reference"')
    checks = Checks(means, backend, _names or {})
    parameters = check_parameters(checks, quats, scales, opacities, covariances)
    shots = check_shots(checks, colors, camera_from_world, K, background)
    if features is not None:
        checks.tensor("features", features, (len(means), "C"))
        if features.shape[1] == 0:
            raise ValueError("features must have at least one channel; pass None for no features")
    is_batch = camera_from_world.ndim == 3
    screen_means, absolute = _screen_means(checks, parameters, shots, is_batch, means2d, absgrad)
    function = ReferenceFunction if backend == "reference" else RasterizeFunction
    images, drawn, blended = [], [], []
    for i, shot in enumerate(shots):
        settings = Settings(
            positive_int("width", width),
            positive_int("height", height),
            shot.sh_degree or 0,
            depth,
            options,
            None if absolute is None else absolute.view(len(shots), -1, 2)[i],
        )
        screen_mean = screen_means[i] if is_batch else screen_means
        planes, alpha, z, splat, visible, extra = _draw(function, parameters, shot, screen_mean, features, settings)
        images.append((planes.permute(1, 2, 0), alpha, z))
        drawn.append((splat, visible))
        blended.append(None if extra is None else extra.permute(1, 2, 0))
    if not is_batch:
        result = Rasterized(*images[0], Info(screen_means, means2d is None, drawn))
        result.features = blended[0]
        return result
    stacked = [None if parts[0] is None else torch.stack(parts) for parts in zip(*images)]
    result = Rasterized(*stacked, Info(screen_means, means2d is None, drawn))
    result.features = None if features is None else torch.stack(blended)
    return result


rasterize.__doc__ = (rasterize.__doc__ or "") + render_options_text()


def _draw(
    function: Any,
    p: Parameters,
    shot: Shot,
    screen_means: torch.Tensor,
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
        screen_means,
        features,
        settings,
    )


def _screen_means(
    checks: Checks,
    parameters: Parameters,
    shots: Sequence[Shot],
    is_batch: bool,
    given: Optional[torch.Tensor],
    absgrad: bool,
) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """The tensor for the gradient with respect to screen positions, and that for its absolute sums or None."""
    n = len(parameters.means)
    shape = (len(shots), n, 2) if is_batch else (n, 2)
    if given is not None:
        checks.tensor("means2d", given, shape)
    tensors = [*parameters, given] + [t for shot in shots for t in shot]
    wants_grad = torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in tensors)
    like = dict(dtype=parameters.means.dtype, device=parameters.means.device)
    # If the caller gave none, Info fills in the values on first use.
    screen_means = torch.empty(shape, requires_grad=wants_grad, **like) if given is None else given
    if not (absgrad and wants_grad):
        return screen_means, None
    screen_means.absgrad = torch.zeros(shape, **like)
    return screen_means, screen_means.absgrad
