# SPDX-License-Identifier: Apache-2.0
"""One image, forward and backward, by the library's kernels."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch

from .. import _stipple
from ..camera import Camera, make_view
from ._tensors import address, as_arrays, backend_of, by_gaussian, packed, stream_of


@dataclass
class Settings:
    """The inputs that are not tensors."""

    width: int
    height: int
    sh_degree: int
    depth: Optional[str]
    options: Dict[str, Any]  # render options other than the background
    absgrad: Optional[torch.Tensor]  # (N, 2), written by backward()

    def view(self, pose: torch.Tensor, K: torch.Tensor, background: torch.Tensor) -> "_stipple.View":
        """The library's View of these settings and a camera."""
        pose_array, K_array, color = as_arrays(pose, K, background)
        return make_view(
            Camera.from_K(pose_array, K_array, self.width, self.height),
            background=color,
            depth=self.depth,
            **self.options,
        )


def _with_room(device: torch.device, work: Callable[..., Any], *arguments: Any) -> Any:
    """Calls work(). If a GPU runs out of memory, frees the memory that torch caches and tries once more."""
    try:
        return work(*arguments)
    except _stipple.OutOfMemory:
        if device.type != "cuda":
            raise
        torch.cuda.empty_cache()
        return work(*arguments)


class RasterizeFunction(torch.autograd.Function):
    """Returns colour planes (3, height, width), alpha, depth or None, the splats in rows and which Gaussian has which
    row (by_gaussian), and feature planes or None."""

    @staticmethod
    def forward(
        ctx, means, quats, scales, opacities, sh, colors, covariances, pose, K, background, means2d, features, settings
    ):
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
            backend_of(means, "means"),
            n,
            settings.sh_degree,
            _stipple.Addresses(*map(address, inputs)),
            settings.view(pose, K, background),
        )
        splat = empty(n, 16)  # those of the Gaussians that are shown come first
        visible = torch.empty(((n + 31) // 32, 2), dtype=torch.int32, device=device)
        planes = empty(3, settings.height, settings.width)
        transmittance = empty(settings.height, settings.width)
        depth = empty(settings.height, settings.width) if settings.depth else None
        outputs = (splat, visible, planes, transmittance, depth)
        feature_count = 0 if features is None else features.shape[1]
        values = None if features is None else packed(features)
        blended = empty(feature_count, settings.height, settings.width) if feature_count else None
        _with_room(
            device,
            run.forward,
            *map(address, outputs),
            address(values),
            feature_count,
            address(blended),
            stream_of(means),
        )
        ctx.mark_non_differentiable(splat, visible)
        ctx.set_materialize_grads(False)
        # The library reads these tensors in the backward pass, so the graph keeps them alive, whatever the caller does
        # with them. The original inputs are saved, too, so that torch detects changes in place.
        given = (means, quats, scales, opacities, sh, colors, covariances, pose, K)
        kept = (values, blended, features)
        outputs = (transmittance, splat, visible, planes, depth)
        ctx.save_for_backward(pose, K, background, *outputs, *inputs, *given, *kept)
        ctx.run, ctx.settings = run, settings
        return planes, 1 - transmittance, depth, splat, visible, blended

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dL_dplanes, dL_dalpha, dL_ddepth, _, __, dL_dblended):
        pose, K, background, transmittance, _, visible, planes, _, *rest = ctx.saved_tensors
        inputs, settings, needs = rest[:7], ctx.settings, ctx.needs_input_grad
        n, device = len(inputs[0]), inputs[0].device
        output_gradients = [
            torch.zeros_like(planes) if dL_dplanes is None else packed(dL_dplanes),
            None if dL_dalpha is None else packed(dL_dalpha),
            None if dL_ddepth is None else packed(dL_ddepth),
        ]
        gradients = [None if t is None else torch.empty_like(t) for t in inputs]
        dL_dsplat = torch.empty((n, 10), dtype=torch.float32, device=device)
        absolute = None
        if settings.absgrad is not None:
            absolute = torch.empty((n, 2), dtype=torch.float32, device=device)
        dL_dfeature_planes = None if dL_dblended is None else packed(dL_dblended)
        features = rest[-1]
        dL_dfeatures = None
        if features is not None:
            dL_dfeatures = torch.zeros_like(features) if dL_dfeature_planes is None else torch.empty_like(rest[-3])
        wants_camera = needs[7] or needs[8]
        camera, dL_dbackground = _with_room(
            device,
            ctx.run.backward,
            *map(address, output_gradients),
            address(dL_dsplat),
            address(absolute),
            address(dL_dfeature_planes),
            address(dL_dfeatures),
            _stipple.Addresses(*map(address, gradients)),
            wants_camera,
            needs[9],
            stream_of(inputs[0]),
        )
        if absolute is not None:
            settings.absgrad.copy_(by_gaussian(absolute, visible, n))
        mean, scale, quat, opacity, sh, color, covariance = gradients
        dL_dpose, dL_dK = camera_gradients(camera, pose, K) if wants_camera else (None, None)
        of_gaussians = (mean, quat, scale, opacity, sh, color, covariance)
        dL_dmeans2d = by_gaussian(dL_dsplat[:, :2], visible, n) if needs[10] else None
        found = (*of_gaussians, dL_dpose, dL_dK, None, dL_dmeans2d, dL_dfeatures, None)
        answer = [gradient if needed else None for gradient, needed in zip(found, needs)]
        if needs[9]:
            answer[9] = torch.tensor(dL_dbackground).to(background)
        return tuple(answer)


def camera_gradients(numbers: List[float], pose: torch.Tensor, K: torch.Tensor) -> Tuple[torch.Tensor, torch.Tensor]:
    """Converts the library's 16 camera gradients to the shapes of camera_from_world and K."""
    values = torch.tensor(numbers, dtype=torch.float64)
    dL_dpose = torch.zeros(pose.shape, dtype=torch.float64)
    dL_dpose[:3] = values[:12].reshape(3, 4)
    dL_dK = torch.zeros((3, 3), dtype=torch.float64)
    dL_dK[0, 0], dL_dK[1, 1], dL_dK[0, 2], dL_dK[1, 2] = values[12:]
    return dL_dpose.to(pose), dL_dK.to(K)
