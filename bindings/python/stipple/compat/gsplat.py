# SPDX-License-Identifier: Apache-2.0
"""rasterization() with the arguments and results of gsplat 1.5. Errors name unsupported arguments."""
from __future__ import annotations

import weakref
from typing import Any, Dict, Optional, Tuple

import torch

from .._checks import check_shape, one_of
from ..torch import Info, rasterize
from ..torch._tensors import check_tensor

_ALPHA_MAX = 0.999
_TILE = 16
_NAMES = {"camera_from_world": "viewmats", "K": "Ks", "background": "backgrounds", "covariances": "covars"}
# Further arguments of gsplat, with the values that have no effect.
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
    """The colours of one camera (N, 3), or the coefficients of the active degrees (N, K, 3)."""
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


def _image(result: Any, mode: str) -> torch.Tensor:
    """The channels in the order of the mode's name."""
    parts = []
    if mode.startswith("RGB"):
        parts.append(result.color)
    if mode != "RGB":
        depth = result.depth[..., None]
        if mode.endswith("ED"):
            depth = depth / result.alpha[..., None].clamp_min(1e-10)
        parts.append(depth)
    return torch.cat(parts, -1)


class _ProjectedMeans(torch.autograd.Function):
    """Means in pixels (C, N, 2), for the backward pass only: the values are zeros, since the kernels compute them.
    `visible` (C, N) may be filled in after the forward pass; Gaussians that are not visible get no gradient."""

    @staticmethod
    def forward(ctx, means, viewmats, Ks, visible):
        ctx.save_for_backward(means, viewmats, Ks)
        ctx.visible = visible
        return means.new_zeros((len(viewmats), len(means), 2))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dL_dmeans2d):
        if not dL_dmeans2d.is_cuda and not dL_dmeans2d.any():  # the usual case; on a GPU the test would have to wait
            return None, None, None, None
        saved, needs = ctx.saved_tensors, ctx.needs_input_grad
        with torch.enable_grad():
            inputs = [t.detach().requires_grad_(needed) for t, needed in zip(saved, needs)]
            pixels = _project(*inputs, ctx.visible)
            wanted = [t for t in inputs if t.requires_grad]
            found = iter(torch.autograd.grad(pixels, wanted, dL_dmeans2d))
        return (*(next(found) if needed else None for needed in needs[:3]), None)


def _project(means: torch.Tensor, viewmats: torch.Tensor, Ks: torch.Tensor, visible: torch.Tensor) -> torch.Tensor:
    """u = fx x/z + cx and v = fy y/z + cy, or zeros where a Gaussian is not visible."""
    viewmats, Ks, zero = viewmats.to(means.device), Ks.to(means.device), means.new_zeros(())
    # Values of the others are replaced before they are used: they may be NaN, and 0 times NaN is not a zero gradient.
    means = torch.where(visible[..., None], means, zero)
    x, y, z = (means @ viewmats[:, :3, :3].transpose(1, 2) + viewmats[:, None, :3, 3]).unbind(-1)
    z = torch.where(visible, z, zero + 1)
    u = Ks[:, None, 0, 0] * x / z + Ks[:, None, 0, 2]
    v = Ks[:, None, 1, 1] * y / z + Ks[:, None, 1, 2]
    return torch.where(visible[..., None], torch.stack([u, v], -1), zero)


class _ScreenMeans:
    """meta["means2d"] before its values are known, in the graph of the image.

    The kernels' gradient of the means already contains the path through their screen positions. `image_input` is
    therefore `means2d` minus the same projection: the image's gradient reaches means2d.grad, but cancels on its way to
    the means, and the gradient of a loss on means2d itself does not.
    """

    def __init__(self, means: torch.Tensor, viewmats: torch.Tensor, Ks: torch.Tensor, wants_grad: bool) -> None:
        self.visible = torch.zeros((len(viewmats), len(means)), dtype=torch.bool, device=means.device)
        projected = _ProjectedMeans.apply(means, viewmats, Ks, self.visible)
        self.means2d = projected.clone()
        if wants_grad:
            self.means2d.requires_grad_()
        self.image_input = self.means2d - projected

    def fill_in(self, info: Info) -> None:
        """Takes the values from the kernels' results."""
        with torch.no_grad():
            self.visible.copy_((info.radii > 0).all(-1))
            self.means2d.copy_(info.means2d)
        if hasattr(self.image_input, "absgrad"):
            self.means2d.absgrad = self.image_input.absgrad


def _visible_rows(whole: torch.Tensor, camera: torch.Tensor, gaussian: torch.Tensor) -> torch.Tensor:
    """These rows of means2d. A hook sets their .grad and .absgrad from those of the whole, since only the whole is an
    input of the image."""
    rows = whole[camera, gaussian]
    if not whole.requires_grad:
        return rows
    # A strong reference from the hook to the rows would be a cycle, and keep the graph alive.
    known_rows, absgrad = weakref.ref(rows), getattr(whole, "absgrad", None)

    def pass_on(gradient: torch.Tensor) -> None:
        alive_rows = known_rows()
        if alive_rows is None:
            return
        alive_rows.grad = gradient[camera, gaussian]
        if absgrad is not None:
            alive_rows.absgrad = absgrad[camera, gaussian]

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
    """Returns images (C, height, width, X), alphas (C, height, width, 1) and a dictionary with radii, means2d, depths,
    conics, opacities, camera_ids and gaussian_ids (None unless packed), width, height, tile_size, tile_width,
    tile_height and n_cameras.

    If packed, these have one row per visible Gaussian of each camera, otherwise one per Gaussian of each camera.
    means2d is differentiable with respect to means, viewmats and Ks; after backward() it has .grad and, with absgrad,
    .absgrad. The other entries carry no gradient. channel_chunk and segmented have no effect. Arguments of gsplat that
    are not supported raise NotImplementedError unless they have the value that disables them.
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
        if name == "rolling_shutter":  # an enumeration of gsplat, in which GLOBAL means none
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
    tensors = (means, quats, scales, opacities, colors, viewmats, Ks, backgrounds, covars)
    wants_grad = torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in tensors)
    check_tensor("means", means, ("N", 3), torch.float32)
    screen = _ScreenMeans(means, viewmats, Ks, wants_grad)
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
        means2d=screen.image_input,
        absgrad=absgrad,
        _names=_NAMES,
    )
    screen.fill_in(result.info)
    meta = _meta(result.info, screen.means2d, packed, width, height)
    return _image(result, render_mode), result.alpha[..., None], meta


def _meta(info: Info, means2d: torch.Tensor, packed: bool, width: int, height: int) -> Dict[str, Any]:
    found: Dict[str, Any] = {
        "camera_ids": None,
        "gaussian_ids": None,
        "radii": info.radii.int(),
        "means2d": means2d,
        "depths": info.depths,
        "conics": info.conics,
        "opacities": info.opacities,
    }
    if packed:
        camera, gaussian = torch.nonzero((found["radii"] > 0).all(-1), as_tuple=True)
        rows = {k: v[camera, gaussian] for k, v in found.items() if v is not None and k != "means2d"}
        rows["means2d"] = _visible_rows(means2d, camera, gaussian)
        found.update(rows, camera_ids=camera, gaussian_ids=gaussian)
    elif means2d.requires_grad:
        means2d.retain_grad()
    found.update(
        width=width,
        height=height,
        tile_size=_TILE,
        tile_width=(width + _TILE - 1) // _TILE,
        tile_height=(height + _TILE - 1) // _TILE,
        n_cameras=len(info.radii),
    )
    return found
