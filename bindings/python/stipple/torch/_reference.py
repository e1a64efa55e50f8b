# SPDX-License-Identifier: Apache-2.0
"""The reference renderer in float64: slow, and the standard that the kernels are tested against."""
from __future__ import annotations

from typing import Any, List, Optional, Sequence

import numpy as np
import torch

from .. import _stipple
from ._function import camera_gradients

# The reference takes logits, and those of opacities 0 and 1 are infinite.
_OPACITY_MARGIN = 1e-12


def _numbers(tensor: Optional[torch.Tensor]) -> np.ndarray:
    if tensor is None:
        return np.zeros(0)
    return np.ascontiguousarray(tensor.detach().numpy(), dtype=np.float64)


def _in_threes(features: np.ndarray) -> List[np.ndarray]:
    """Splits (N, C) into groups of (N, 3), padded with zeros."""
    n, count = features.shape
    padded = np.zeros((n, -(-count // 3) * 3))
    padded[:, :count] = features
    return [np.ascontiguousarray(padded[:, k : k + 3]) for k in range(0, padded.shape[1], 3)]


_COLOR, _BACKGROUND = 5, 8  # indices in the result of Reference.backward()


def _add_features(runs: Sequence[Any], dL_dblended: Any, parts: List[torch.Tensor]) -> Optional[torch.Tensor]:
    """Returns the gradient of the features, and adds their contribution to the other gradients in `parts`."""
    if not runs:
        return None
    count, height, width = dL_dblended.shape
    found = []
    for i, run in enumerate(runs):
        channels = np.zeros((height, width, 4))
        group = _numbers(dL_dblended[3 * i : 3 * i + 3].permute(1, 2, 0))
        channels[..., : group.shape[-1]] = group
        shares = [torch.from_numpy(a) for a in run.backward(channels, np.zeros((height, width)))]
        found.append(shares[_COLOR].reshape(-1, 3))
        for k, share in enumerate(shares):
            if k not in (_COLOR, _BACKGROUND) and share.numel() == parts[k].numel():
                parts[k] += share
    return torch.cat(found, dim=1)[:, :count]


class ReferenceFunction(torch.autograd.Function):
    """Has the inputs and outputs of RasterizeFunction, but a splat for every Gaussian."""

    @staticmethod
    def forward(
        ctx, means, quats, scales, opacities, sh, colors, covariances, pose, K, background, means2d, features, settings
    ):
        n = len(means)
        k = _numbers(K)
        camera = np.concatenate([_numbers(pose)[:3].ravel(), [k[0, 0], k[1, 1], k[0, 2], k[1, 2]]])

        def reference(given_colors: np.ndarray, behind: torch.Tensor) -> "_stipple.Reference":
            return _stipple.Reference(
                _numbers(means),
                np.zeros((n, 3)) if scales is None else np.log(_numbers(scales)),
                np.zeros((n, 4)) if quats is None else _numbers(quats),
                _numbers(torch.logit(opacities.detach(), eps=_OPACITY_MARGIN)),
                np.zeros((n, 1, 3)) if sh is None else _numbers(sh),
                settings.sh_degree,
                given_colors,
                _numbers(covariances),
                camera,
                _numbers(behind),
                settings.view(pose, K, behind),
            )

        run = reference(_numbers(colors), background)
        # An image is linear in the colours: features are blended as colours, three at a time, over a black background.
        groups = [] if features is None else _in_threes(_numbers(features))
        runs = [reference(group, torch.zeros_like(background)) for group in groups]
        shape = (settings.height, settings.width)
        channels, alpha = (torch.from_numpy(a) for a in run.forward())
        planes = channels.reshape(*shape, 4).permute(2, 0, 1)
        splat = torch.zeros((n, 16), dtype=torch.float64)
        splat[:, [0, 1, 11, 12, 10, 2, 3, 4, 5]] = torch.from_numpy(run.splats()).reshape(n, 9)
        ctx.mark_non_differentiable(splat)
        given = (means, quats, scales, opacities, sh, colors, covariances, pose, K)
        ctx.save_for_backward(*given)
        ctx.run, ctx.feature_runs, ctx.settings = run, runs, settings
        blended = None
        if features is not None:
            parts = [torch.from_numpy(r.forward()[0]).reshape(*shape, 4).permute(2, 0, 1)[:3] for r in runs]
            blended = torch.cat(parts)[: features.shape[1]].contiguous()
        depth = planes[3].contiguous() if settings.depth else None
        return planes[:3].contiguous(), alpha.reshape(shape), depth, splat, None, blended

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dL_dplanes, dL_dalpha, dL_ddepth, _, __, dL_dblended):
        _, _, scales, opacities, _, _, _, pose, K = ctx.saved_tensors
        settings = ctx.settings
        channels = np.zeros((settings.height, settings.width, 4))
        channels[..., :3] = _numbers(dL_dplanes.permute(1, 2, 0))
        if settings.depth:
            channels[..., 3] = _numbers(dL_ddepth)
        parts = [torch.from_numpy(a) for a in ctx.run.backward(channels, _numbers(dL_dalpha))]
        dL_dfeatures = _add_features(ctx.feature_runs, dL_dblended, parts)
        mean, log_scale, quat, logit_opacity, sh, color, covariance, camera, background, mean_px = parts
        o = opacities.detach().clamp(_OPACITY_MARGIN, 1 - _OPACITY_MARGIN)
        found = (
            mean.reshape(-1, 3),
            quat.reshape(-1, 4),
            None if scales is None else log_scale.reshape(-1, 3) / scales.detach(),
            logit_opacity / (o * (1 - o)),
            sh.reshape(len(o), -1, 3),
            color.reshape(-1, 3),
            covariance.reshape(-1, 6),
            *camera_gradients(camera.tolist(), pose, K),
            background,
            mean_px.reshape(-1, 2),
            dL_dfeatures,
            None,
        )
        return tuple(gradient if needed else None for gradient, needed in zip(found, ctx.needs_input_grad))
