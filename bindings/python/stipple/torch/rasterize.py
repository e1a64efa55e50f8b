# SPDX-License-Identifier: Apache-2.0
"""rasterize(): Gaussians to pictures, differentiable by everything that goes in."""
from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np
import torch

from .. import _stipple
from .._checks import check_shape, one_of, positive_int, sh_degree_of
from ..camera import ALPHA_MAX, NEAR_PLANE, Camera, make_view
from ._reference import ReferenceFunction
from ._tensors import address, backend_of, check_tensor, packed, stream_of


class Info:
    """What is known of every Gaussian on the way; with several cameras, of each. Worked out when it is looked at."""

    def __init__(self, places: torch.Tensor, splats: torch.Tensor) -> None:
        self._places, self._splats = places, splats  # rows of 16 numbers, those of the library's ProjectedSplat

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
        if not self._places.is_leaf:  # the caller's own, and not to be written to
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


class Rasterized(NamedTuple):
    """color (height, width, 3) over the background, alpha and depth (height, width); with several cameras, one more
    dimension in front. depth is None where it was not asked for."""

    color: torch.Tensor
    alpha: torch.Tensor
    depth: Optional[torch.Tensor]
    info: Info


@dataclass
class Settings:
    """What is no tensor."""

    width: int
    height: int
    sh_degree: int
    depth: Optional[str]
    antialiased: bool
    scale_modifier: float
    alpha_max: float
    near_plane: float
    absgrad: Optional[torch.Tensor]  # where to put it

    def view(self, pose: torch.Tensor, K: torch.Tensor, background: torch.Tensor) -> "_stipple.View":
        """With a camera, as the library takes it."""
        pose, K, background = _on_host(pose, K, background)
        return make_view(
            Camera.from_K(pose, K, self.width, self.height),
            background=background,
            depth=self.depth,
            antialiased=self.antialiased,
            scale_modifier=self.scale_modifier,
            alpha_max=self.alpha_max,
            near_plane=self.near_plane,
        )


def _on_host(*tensors: torch.Tensor) -> List[np.ndarray]:
    """Small tensors as arrays, in one go: each copy off a GPU waits for it."""
    devices = {t.device for t in tensors}
    if len(devices) > 1:
        return [t.detach().cpu().numpy() for t in tensors]
    flat = torch.cat([t.detach().reshape(-1) for t in tensors]).cpu().numpy()
    parts = np.split(flat, np.cumsum([t.numel() for t in tensors])[:-1])
    return [part.reshape(t.shape) for part, t in zip(parts, tensors)]


class RasterizeFunction(torch.autograd.Function):
    """One picture."""

    @staticmethod
    def forward(ctx, means, quats, scales, opacities, sh, colors, covariances, pose, K, background, means2d, settings):
        n, device = len(means), means.device
        empty = lambda *shape: torch.empty(shape, dtype=torch.float32, device=device)
        zeros = lambda *shape: torch.zeros(shape, dtype=torch.float32, device=device)
        inputs = [
            packed(means),
            zeros(n, 3) if scales is None else packed(scales),
            zeros(n, 4) if quats is None else packed(quats),
            packed(opacities),
            zeros(n, 1, 3) if sh is None else packed(sh),
            None if colors is None else packed(colors),
            None if covariances is None else packed(covariances),
        ]
        run = _stipple.Rasterization(
            backend_of(means),
            n,
            settings.sh_degree,
            _stipple.Addresses(*map(address, inputs)),
            settings.view(pose, K, background),
        )
        splat = empty(n, 16)
        planes = empty(3, settings.height, settings.width)
        transmittance = empty(settings.height, settings.width)
        depth = empty(settings.height, settings.width) if settings.depth else None
        run.forward(address(splat), address(planes), address(transmittance), address(depth), stream_of(means))
        color = planes.permute(1, 2, 0)
        ctx.mark_non_differentiable(splat)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(means, quats, scales, opacities, sh, colors, covariances, pose, K, color, depth)
        # The library goes on with what lies where it put it: these must stay, whatever the caller does with them.
        ctx.kept = run, inputs, transmittance, splat, background.device, settings
        return color, 1 - transmittance, depth, splat

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dL_dcolor, dL_dalpha, dL_ddepth, _):
        pose, K = ctx.saved_tensors[7:9]
        run, inputs, transmittance, _, background_device, settings = ctx.kept
        n, device = len(inputs[0]), inputs[0].device
        needs = ctx.needs_input_grad
        if dL_dcolor is None:
            dL_dcolor = torch.zeros((*transmittance.shape, 3), dtype=torch.float32, device=device)
        pictures = [
            packed(dL_dcolor.permute(2, 0, 1)),
            None if dL_dalpha is None else packed(dL_dalpha),
            None if dL_ddepth is None else packed(dL_ddepth),
        ]
        gradients = [None if t is None else torch.empty_like(t) for t in inputs]
        dL_dsplat = torch.empty((n, 10), dtype=torch.float32, device=device)
        absolute = None
        if settings.absgrad is not None:
            absolute = torch.empty((n, 2), dtype=torch.float32, device=device)
        camera, background = run.backward(
            *map(address, pictures),
            address(dL_dsplat),
            address(absolute),
            _stipple.Addresses(*map(address, gradients)),
            needs[7] or needs[8],
            needs[9],
            stream_of(inputs[0]),
        )
        if absolute is not None:
            settings.absgrad.copy_(absolute)
        mean, scale, quat, opacity, sh, color, covariance = gradients
        pose_gradient, K_gradient = camera_gradients(camera, pose, K) if needs[7] or needs[8] else (None, None)
        return (
            mean if needs[0] else None,
            quat if needs[1] else None,
            scale if needs[2] else None,
            opacity if needs[3] else None,
            sh if needs[4] else None,
            color if needs[5] else None,
            covariance if needs[6] else None,
            pose_gradient if needs[7] else None,
            K_gradient if needs[8] else None,
            torch.tensor(background, dtype=torch.float32, device=background_device) if needs[9] else None,
            dL_dsplat[:, :2] if needs[10] else None,
            None,
        )


def camera_gradients(
    numbers: List[float], pose: torch.Tensor, K: torch.Tensor
) -> Tuple[torch.Tensor, torch.Tensor]:
    """16 numbers to the shapes of camera_from_world and K."""
    values = torch.tensor(numbers, dtype=torch.float64)
    dL_dpose = torch.zeros(pose.shape, dtype=torch.float64)
    dL_dpose[:3] = values[:12].reshape(3, 4)
    dL_dK = torch.zeros((3, 3), dtype=torch.float64)
    dL_dK[0, 0], dL_dK[1, 1], dL_dK[0, 2], dL_dK[1, 2] = values[12:]
    return dL_dpose.to(pose), dL_dK.to(K)


def _check_camera(name: str, value: Any, means: torch.Tensor, dtype: torch.dtype, shapes: tuple) -> None:
    if not isinstance(value, torch.Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, not {type(value).__name__}")
    if tuple(value.shape[-2:]) not in shapes or value.ndim not in (2, 3):
        check_shape(name, value.shape, shapes[0])
    check_tensor(name, value, value.shape, _unless_on_host(value, means), dtype)


def _unless_on_host(value: Any, means: torch.Tensor) -> Optional[torch.Tensor]:
    """What the library wants on the host may be there from the start."""
    return None if isinstance(value, torch.Tensor) and value.device.type == "cpu" else means


def _check_colors(colors: Any, means: torch.Tensor, dtype: torch.dtype) -> Optional[int]:
    """The degree of spherical harmonics, or None where they are plain colours."""
    is_sh = isinstance(colors, torch.Tensor) and colors.ndim == 3
    check_tensor("colors", colors, (len(means), "K", 3) if is_sh else (len(means), 3), means, dtype)
    return sh_degree_of("colors", colors.shape[1]) if is_sh else None


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
    antialiased: bool = False,
    scale_modifier: float = 1.0,
    alpha_max: float = ALPHA_MAX,
    near_plane: float = NEAR_PLANE,
    means2d: Optional[torch.Tensor] = None,
    absgrad: bool = False,
    backend: Optional[str] = None,
) -> Rasterized:
    """Gaussians to a picture, differentiable by every tensor.

    means (N, 3); quats (N, 4), (w, x, y, z) of any length; scales (N, 3), the standard deviations; opacities (N,),
    from 0 to 1; colors (N, 3), or spherical harmonics (N, K, 3) with K = 1, 4, 9 or 16. camera_from_world (4, 4) or
    (3, 4) looks along +z; K (3, 3) is in pixels, the first pixel's centre being (0.5, 0.5). With camera_from_world
    (C, 4, 4) and K (C, 3, 3) there are C pictures, and colors may be a list with those for each.

    background (3,) or (C, 3) is black if not given. covariances (N, 6), as xx, xy, xz, yy, yz, zz, go in place of quats
    and scales, which are then None. depth is None, "expected" or "inverse": the sum of depths, or of their inverses,
    each times what it adds to alpha. means2d (N, 2) or (C, N, 2) is a tensor of your own to get the gradient by places
    on the screen, in place of info.means2d; its values do not matter.

    Tensors are all on one device; camera_from_world, K and background may also be on the host, which saves a wait.
    backend is that of the device; "reference" is slow and in float64, for checks.
    """
    dtype = torch.float64 if backend == "reference" else torch.float32
    one_of("backend", backend, (None, "cpu", "cuda", "reference"))
    one_of("depth", depth, (None, "expected", "inverse"))
    check_tensor("means", means, ("N", 3), None, dtype)
    n = len(means)
    if backend is None or backend != "reference":
        where = backend_of(means)
        if backend not in (None, where):
            raise ValueError(f"means is on {means.device}, which is not where the backend {backend} works")
    check_tensor("opacities", opacities, (n,), means, dtype)
    if covariances is not None:
        if quats is not None or scales is not None:
            raise ValueError("covariances go in place of quats and scales: give None for those")
        check_tensor("covariances", covariances, (n, 6), means, dtype)
    else:
        check_tensor("quats", quats, (n, 4), means, dtype)
        check_tensor("scales", scales, (n, 3), means, dtype)
    _check_camera("camera_from_world", camera_from_world, means, dtype, ((4, 4), (3, 4)))
    _check_camera("K", K, means, dtype, ((3, 3),))
    is_batch = camera_from_world.ndim == 3
    if K.ndim != camera_from_world.ndim or (is_batch and len(K) != len(camera_from_world)):
        raise ValueError("there must be as many K as camera_from_world")
    poses, Ks = (camera_from_world, K) if is_batch else (camera_from_world[None], K[None])
    count = len(poses)
    if count == 0:
        raise ValueError("camera_from_world has no cameras")
    color_of = list(colors) if isinstance(colors, (list, tuple)) else [colors] * count
    if len(color_of) != count:
        raise ValueError(f"there are colors for {len(color_of)} cameras, but {count} cameras")
    sh_degrees = [_check_colors(c, means, dtype) for c in color_of]
    if background is None:
        background = torch.zeros(3, dtype=dtype, device=means.device)
    per_camera = isinstance(background, torch.Tensor) and background.ndim == 2
    where = _unless_on_host(background, means)
    check_tensor("background", background, (count, 3) if per_camera else (3,), where, dtype)
    backgrounds = background if per_camera else background.expand(count, 3)

    places, absolute = _places(means2d, (count, n, 2) if is_batch else (n, 2), absgrad, means)
    function = ReferenceFunction if backend == "reference" else RasterizeFunction
    pictures, splats = [], []
    for i in range(count):
        settings = Settings(
            positive_int("width", width),
            positive_int("height", height),
            sh_degrees[i] or 0,
            depth,
            antialiased,
            scale_modifier,
            alpha_max,
            near_plane,
            None if absolute is None else absolute.view(count, n, 2)[i],
        )
        *picture, splat = function.apply(
            means,
            quats,
            scales,
            opacities,
            None if sh_degrees[i] is None else color_of[i],
            color_of[i] if sh_degrees[i] is None else None,
            covariances,
            poses[i],
            Ks[i],
            backgrounds[i],
            places[i] if is_batch else places,
            settings,
        )
        pictures.append(picture)
        splats.append(splat)
    if not is_batch:
        return Rasterized(*pictures[0], Info(places, splats[0]))
    stacked = [None if parts[0] is None else torch.stack(parts) for parts in zip(*pictures)]
    return Rasterized(*stacked, Info(places, torch.stack(splats)))


def _places(
    given: Optional[torch.Tensor], shape: tuple, absgrad: bool, means: torch.Tensor
) -> Tuple[torch.Tensor, Optional[torch.Tensor]]:
    """What gets the gradient by places on the screen, and what gets its sum without signs."""
    if given is not None:
        check_tensor("means2d", given, shape, means, means.dtype)
    wants_grad = torch.is_grad_enabled()
    places = given
    if places is None:  # values come when they are looked at
        places = torch.empty(shape, dtype=means.dtype, device=means.device, requires_grad=wants_grad)
    if not (absgrad and wants_grad):
        return places, None
    places.absgrad = torch.zeros(shape, dtype=means.dtype, device=means.device)
    return places, places.absgrad
