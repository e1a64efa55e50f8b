# SPDX-License-Identifier: Apache-2.0
"""Fits Gaussians on a plane to one image.

    fit_image.py IMAGE -o fitted.png [--gaussians N] [--steps N] [--size PX]

The plane is z = 1 and the focal length in pixels is the image's longer side, so a position on the plane is a position
in the image relative to that side. All Gaussians have the same depth; they are blended in order of their index.
"""
from __future__ import annotations

import argparse
import math
from typing import Dict

import torch

import stipple
import stipple.torch

Params = Dict[str, torch.nn.Parameter]

LEARNING_RATES = dict(position=1e-3, log_scale=2e-2, angle=2e-2, logit_opacity=5e-2, color=1e-2)
THICKNESS = 1e-3  # of the plane


def load_image(path: str, longer_side_px: int) -> torch.Tensor:
    """Returns (height, width, 3), shrunk to this size if the image is larger."""
    pixels = torch.from_numpy(stipple.load_image(path))
    if pixels.ndim == 2:
        pixels = pixels[..., None].expand(-1, -1, 3)
    planes = pixels[..., :3].permute(2, 0, 1)[None]
    factor = min(1.0, longer_side_px / max(planes.shape[2:]))
    size = [max(1, round(factor * n)) for n in planes.shape[2:]]
    return torch.nn.functional.interpolate(planes, size, mode="area")[0].permute(1, 2, 0).contiguous()


def initial_params(target: torch.Tensor, count: int) -> Params:
    """Random positions, with the image's colours there, and scales that cover the image."""
    height, width, _ = target.shape
    row, column = (torch.rand(2, count) * torch.tensor([[height], [width]])).long()
    position = torch.stack([column + 0.5 - width / 2, row + 0.5 - height / 2], 1) / max(width, height)
    spacing = math.sqrt(width * height / count) / max(width, height)
    values = dict(
        position=position,
        log_scale=torch.full((count, 2), math.log(spacing / 2)),
        angle=torch.rand(count) * math.pi,
        logit_opacity=torch.zeros(count),
        color=target[row, column],
    )
    return {name: torch.nn.Parameter(value) for name, value in values.items()}


def render(p: Params, height: int, width: int) -> torch.Tensor:
    side, ones = float(max(width, height)), torch.ones(len(p["angle"]), 1)
    half, zeros = p["angle"] / 2, torch.zeros(len(p["angle"]))
    means = torch.cat([p["position"], ones], 1)
    quats = torch.stack([half.cos(), zeros, zeros, half.sin()], 1)  # about z
    scales = torch.cat([p["log_scale"].exp(), THICKNESS * ones], 1)
    K = torch.tensor([[side, 0, width / 2], [0, side, height / 2], [0, 0, 1]])
    opacities = p["logit_opacity"].sigmoid()
    return stipple.torch.rasterize(means, quats, scales, opacities, p["color"], torch.eye(4), K, width, height).color


def fit(p: Params, target: torch.Tensor, steps: int) -> None:
    height, width, _ = target.shape
    optimizer = torch.optim.Adam([dict(params=[p[name]], lr=rate) for name, rate in LEARNING_RATES.items()])
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1 ** (1 / steps))
    for step in range(1, steps + 1):
        loss = (render(p, height, width) - target).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step == 1 or step % max(1, steps // 10) == 0:
            print(f"step {step}  loss {loss.item():.6f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fits Gaussians on a plane to one image.")
    parser.add_argument("image")
    parser.add_argument("-o", "--output", required=True, help="the .png file to write")
    parser.add_argument("--gaussians", type=int, default=2000)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--size", type=int, default=256, help="longer side of the fitted image, in pixels")
    args = parser.parse_args()
    torch.manual_seed(1)
    target = load_image(args.image, args.size)
    p = initial_params(target, args.gaussians)
    fit(p, target, args.steps)
    fitted = render(p, *target.shape[:2]).detach()
    stipple.save_png(fitted, args.output)
    print(f"PSNR {stipple.psnr(fitted, target):.2f} dB with {args.gaussians} Gaussians")


if __name__ == "__main__":
    main()
