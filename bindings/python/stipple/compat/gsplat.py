# SPDX-License-Identifier: Apache-2.0
"""rasterization() with the arguments and results of gsplat 1.5. What is not supported is refused by name."""
from __future__ import annotations

import weakref
from typing import Any, Dict, Optional, Tuple

import torch

from .._checks import check_shape, one_of
from ..torch import Info, rasterize

_ALPHA_MAX = 0.999
_TILE = 16
_NAMES = {"camera_from_world": "viewmats", "K": "Ks", "background": "backgrounds", "covariances": "covars"}
# Arguments that gsplat knows besides, with the values that do nothing.
_NEUTRAL = {
    "radial_coeffs": None,
    "tangential_coeffs": None,
    "thin_prism_coeffs": None,
    "ftheta_coeffs": None,
    "viewmats_rs": None,
}
_DEPTH_MODES = {"RGB": None, "D": "expected", "ED": "expected", "RGB+D": "expected", "RGB+ED": "expected"}


def _refuse(name: str, value: Any, only: Any) -> None:
    if value is not only and value != only:
        raise NotImplementedError(f"stipple.compat.gsplat: {name}={value!r} is not supported, only {only!r}")


def _active_colors(colors: torch.Tensor, sh_degree: Optional[int], camera: int, cameras: int) -> torch.Tensor:
    """One camera's colours (N, 3), or the coefficients of the degrees in use (N, K, 3)."""
    per_camera = 3 if sh_degree is None else 4
    if colors.ndim == per_camera:
        check_shape("colors", colors.shape[:1], (cameras,))
        colors = colors[camera]
    if colors.shape[-1] != 3:
        channels = f"colors with {colors.shape[-1]} channels"
        raise NotImplementedError(f"stipple.compat.gsplat: {channels} are not supported, only 3")
    if sh_degree is None:
        return colors
    count = (one_of("sh_degree", sh_degree, (0, 1, 2, 3)) + 1) ** 2
    if colors.ndim != 3 or colors.shape[1] < count:
        check_shape("colors", colors.shape, ("N", count, 3))
    return colors[:, :count]


def _packed_covariances(covars: torch.Tensor) -> torch.Tensor:
    if covars.shape[-2:] != (3, 3):
        check_shape("covars", covars.shape, ("N", 3, 3))
    return torch.stack([covars[..., i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))], -1)


def _picture(result: Any, mode: str) -> torch.Tensor:
    """Channels in the order that the mode names them."""
    parts = []
    if mode.startswith("RGB"):
        parts.append(result.color)
    if mode != "RGB":
        depth = result.depth[..., None]
        if mode.endswith("ED"):
            depth = depth / result.alpha[..., None].clamp_min(1e-10)
        parts.append(depth)
    return torch.cat(parts, -1)


def _seen_rows(whole: torch.Tensor, camera: torch.Tensor, gaussian: torch.Tensor) -> torch.Tensor:
    """A leaf with those rows of means2d, whose .grad (and .absgrad) is set when that of the whole is known."""
    rows = whole.detach()[camera, gaussian]
    if not whole.requires_grad:
        return rows
    rows.requires_grad_()
    known_rows, absgrad = weakref.ref(rows), getattr(whole, "absgrad", None)  # no cycle, which would keep all of it

    def pass_on(gradient: torch.Tensor) -> None:
        wanted = known_rows()
        if wanted is None:
            return
        wanted.grad = gradient[camera, gaussian]
        if absgrad is not None:
            wanted.absgrad = absgrad[camera, gaussian]

    whole.register_hook(pass_on)
    return rows


def rasterization(
    means: torch.Tensor,
    quats: Optional[torch.Tensor],
    scales: Optional[torch.Tensor],
    opacities: torch.Tensor,
    colors: torch.Tensor,
    viewmats: torch.Tensor,
    Ks: torch.Tensor,
    width: int,
    height: int,
    near_plane: float = 0.01,
    far_plane: float = 1e10,
    radius_clip: float = 0.0,
    eps2d: float = 0.3,
    sh_degree: Optional[int] = None,
    packed: bool = True,
    tile_size: int = _TILE,
    backgrounds: Optional[torch.Tensor] = None,
    render_mode: str = "RGB",
    sparse_grad: bool = False,
    absgrad: bool = False,
    rasterize_mode: str = "classic",
    channel_chunk: int = 32,
    distributed: bool = False,
    camera_model: str = "pinhole",
    segmented: bool = False,
    covars: Optional[torch.Tensor] = None,
    with_ut: bool = False,
    with_eval3d: bool = False,
    **others: Any,
) -> Tuple[torch.Tensor, torch.Tensor, Dict[str, Any]]:
    """Pictures (C, height, width, X), alphas (C, height, width, 1) and a dictionary with what scripts look at: radii,
    means2d (with .grad, and .absgrad if asked for), depths, conics, opacities, camera_ids and gaussian_ids (None unless
    packed), width, height, tile_size, tile_width, tile_height, n_cameras.

    With packed, these have one row for every Gaussian that a camera sees, else one for every Gaussian of every camera.
    channel_chunk and segmented say how gsplat works inside, and change nothing here. Whatever else gsplat knows and
    this does not is refused with NotImplementedError, unless it has the value that does nothing.
    """
    del channel_chunk, segmented
    _refuse("far_plane", far_plane, 1e10)
    _refuse("radius_clip", radius_clip, 0.0)
    _refuse("tile_size", tile_size, _TILE)
    _refuse("sparse_grad", sparse_grad, False)
    _refuse("distributed", distributed, False)
    _refuse("camera_model", camera_model, "pinhole")
    _refuse("with_ut", with_ut, False)
    _refuse("with_eval3d", with_eval3d, False)
    for name, value in others.items():
        if name == "rolling_shutter":  # an enumeration of gsplat's own, in which GLOBAL does nothing
            value = None if value is None or getattr(value, "name", "") == "GLOBAL" else value
        elif name not in _NEUTRAL:
            raise TypeError(f"rasterization() got an unexpected argument '{name}'")
        if value is not None:
            raise NotImplementedError(f"stipple.compat.gsplat: {name} is not supported")
    if isinstance(means, torch.Tensor) and means.ndim > 2:
        raise NotImplementedError("stipple.compat.gsplat: batch dimensions of means are not supported")
    one_of("render_mode", render_mode, tuple(_DEPTH_MODES))
    one_of("rasterize_mode", rasterize_mode, ("classic", "antialiased"))
    check_shape("viewmats", viewmats.shape, ("C", 4, 4))
    cameras = len(viewmats)
    check_shape("Ks", Ks.shape, (cameras, 3, 3))
    if backgrounds is not None:
        check_shape("backgrounds", backgrounds.shape, (cameras, 3))
    result = rasterize(
        means,
        None if covars is not None else quats,
        None if covars is not None else scales,
        opacities,
        [_active_colors(colors, sh_degree, i, cameras) for i in range(cameras)],
        viewmats,
        Ks,
        width,
        height,
        background=backgrounds,
        covariances=None if covars is None else _packed_covariances(covars),
        depth=_DEPTH_MODES[render_mode],
        antialiased=rasterize_mode == "antialiased",
        alpha_max=_ALPHA_MAX,
        near_plane=near_plane,
        blur=eps2d,
        absgrad=absgrad,
        _names=_NAMES,
    )
    return _picture(result, render_mode), result.alpha[..., None], _meta(result.info, packed, width, height)


def _meta(info: Info, packed: bool, width: int, height: int) -> Dict[str, Any]:
    found: Dict[str, Any] = {
        "camera_ids": None,
        "gaussian_ids": None,
        "radii": info.radii.int(),
        "means2d": info.means2d,
        "depths": info.depths,
        "conics": info.conics,
        "opacities": info.opacities,
    }
    if packed:
        camera, gaussian = torch.nonzero((found["radii"] > 0).all(-1), as_tuple=True)
        found = {k: None if v is None else v[camera, gaussian] for k, v in found.items()}
        found.update(camera_ids=camera, gaussian_ids=gaussian, means2d=_seen_rows(info.means2d, camera, gaussian))
    found.update(
        width=width,
        height=height,
        tile_size=_TILE,
        tile_width=(width + _TILE - 1) // _TILE,
        tile_height=(height + _TILE - 1) // _TILE,
        n_cameras=len(info.radii),
    )
    return found
