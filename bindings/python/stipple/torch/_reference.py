# SPDX-License-Identifier: Apache-2.0
"""The same picture by the reference renderer, in float64: slow, and what the kernels are held to."""
from __future__ import annotations

import numpy as np
import torch

from .. import _stipple


def _numbers(tensor: "torch.Tensor | None") -> np.ndarray:
    if tensor is None:
        return np.zeros(0)
    return np.ascontiguousarray(tensor.detach().cpu().numpy(), dtype=np.float64)


class ReferenceFunction(torch.autograd.Function):
    """Takes and gives what rasterize.RasterizeFunction does."""

    @staticmethod
    def forward(ctx, means, quats, scales, opacities, sh, colors, covariances, pose, K, background, means2d, settings):
        n = len(means)
        k = _numbers(K)
        camera = np.concatenate([_numbers(pose)[:3].ravel(), [k[0, 0], k[1, 1], k[0, 2], k[1, 2]]])
        run = _stipple.Reference(
            _numbers(means),
            np.zeros((n, 3)) if scales is None else np.log(_numbers(scales)),
            np.zeros((n, 4)) if quats is None else _numbers(quats),
            _numbers(torch.logit(opacities.detach())),
            np.zeros((n, 1, 3)) if sh is None else _numbers(sh),
            settings.sh_degree,
            _numbers(colors),
            _numbers(covariances),
            camera,
            _numbers(background),
            settings.view(pose.float(), K.float(), background.float()),
        )
        shape = (settings.height, settings.width)
        channels, alpha = (torch.from_numpy(a) for a in run.forward())
        channels = channels.reshape(*shape, 4)
        splat = torch.zeros((n, 16), dtype=torch.float64)
        splat[:, [0, 1, 11, 12, 10, 2, 3, 4, 5]] = torch.from_numpy(run.splats()).reshape(n, 9)
        ctx.mark_non_differentiable(splat)
        ctx.save_for_backward(scales, opacities, pose, K)
        ctx.kept = run, settings
        depth = channels[..., 3].clone() if settings.depth else None
        return channels[..., :3].clone(), alpha.reshape(shape), depth, splat

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dL_dcolor, dL_dalpha, dL_ddepth, _):
        from .rasterize import camera_gradients  # which imports this file

        scales, opacities, pose, K = ctx.saved_tensors
        run, settings = ctx.kept
        channels = np.zeros((settings.height, settings.width, 4))
        channels[..., :3] = _numbers(dL_dcolor)
        if settings.depth:
            channels[..., 3] = _numbers(dL_ddepth)
        parts = [torch.from_numpy(a) for a in run.backward(channels, _numbers(dL_dalpha))]
        mean, log_scale, quat, logit_opacity, sh, color, covariance, camera, background, mean_px = parts
        dL_dpose, dL_dK = camera_gradients(camera.tolist(), pose, K)
        needs = ctx.needs_input_grad
        o = opacities.detach()
        return (
            mean.reshape(-1, 3),
            quat.reshape(-1, 4) if needs[1] else None,
            log_scale.reshape(-1, 3) / scales.detach() if needs[2] else None,
            logit_opacity / (o * (1 - o)),
            sh.reshape(len(o), -1, 3) if needs[4] else None,
            color.reshape(-1, 3) if needs[5] else None,
            covariance.reshape(-1, 6) if needs[6] else None,
            dL_dpose,
            dL_dK,
            background,
            mean_px.reshape(-1, 2),
            None,
        )
