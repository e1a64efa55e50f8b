# SPDX-License-Identifier: Apache-2.0
"""A complete trainer in PyTorch: reads photos with cameras and writes a .ply file.

    train_minimal.py SCENE -o model.ply [--steps N] [--max-resolution PX] [--device cpu|cuda] [--seed N]

Density control follows Kerbl et al., "3D Gaussian Splatting for Real-Time Radiance Field Rendering", 2023, with a small
penalty on opacities instead of opacity resets, and without pruning large Gaussians. Masks are ignored.
stipple.Trainer does all of this faster and can be interrupted.
"""
from __future__ import annotations

import argparse
import math
from typing import Dict, List, NamedTuple

import torch

import stipple
import stipple.torch

Params = Dict[str, torch.nn.Parameter]

LEARNING_RATES = dict(
    mean=1.6e-4, log_scale=5e-3, rotation=1e-3, logit_opacity=2.5e-2, sh_base=2.5e-3, sh_rest=1.25e-4
)
MEAN_DECAY = 0.01  # final learning rate of the means, relative to the initial one
SH_0 = 0.28209479177387814  # 1 / (2 sqrt(pi)), the constant spherical harmonic
GROW_GRADIENT = 2e-4  # threshold of the mean gradient on the screen, in half image sizes
CLONE_SCALE = 0.01  # relative to the scene extent: up to this size Gaussians are cloned, above they are split
CHILD_SCALE = 1 / 1.6  # relative to the parent
PRUNE_OPACITY = 0.05
OPACITY_PENALTY = 2e-3


class Shot(NamedTuple):
    """A view: its camera on the host, so that rasterize need not wait for the GPU, and its photo on the device."""

    camera_from_world: torch.Tensor
    K: torch.Tensor
    photo: torch.Tensor  # (height, width, 3), 8 bits


def shot_of(view: stipple.SceneView, device: str) -> Shot:
    pose, K, photo = map(torch.from_numpy, (view.camera.camera_from_world, view.camera.K, view.photo()))
    return Shot(pose, K, photo.to(device))


def extent_of(shots: List[Shot]) -> float:
    """1.1 times the largest distance of a camera from the mean of all cameras."""
    centers = torch.stack([-s.camera_from_world[:, :3].T @ s.camera_from_world[:, 3] for s in shots])
    return 1.1 * float((centers - centers.mean(0)).norm(dim=1).max()) or 1.0


def neighbour_distances(points: torch.Tensor) -> torch.Tensor:
    """The mean distance of each point to its three nearest neighbours, in chunks to limit memory."""
    exact = "donot_use_mm_for_euclid_dist"
    nearest = [torch.cdist(c, points, compute_mode=exact).topk(4, largest=False).values for c in points.split(256)]
    return torch.cat(nearest)[:, 1:].mean(1)  # the first is the point itself


def initial_params(scene: stipple.Scene, device: str) -> Params:
    mean, color = (torch.from_numpy(a).to(device) for a in scene.points)
    n = len(mean)
    values = dict(
        mean=mean,
        log_scale=neighbour_distances(mean).clamp_min(1e-4).log()[:, None].repeat(1, 3),
        rotation=torch.tensor([1.0, 0, 0, 0], device=device).repeat(n, 1),
        logit_opacity=torch.full((n,), math.log(0.1 / 0.9), device=device),
        sh_base=((color / 255 - 0.5) / SH_0)[:, None],
        sh_rest=torch.zeros(n, 15, 3, device=device),
    )
    return {name: torch.nn.Parameter(value) for name, value in values.items()}


def render(p: Params, shot: Shot, sh_degree: int) -> stipple.torch.Rasterized:
    height, width, _ = shot.photo.shape
    sh = torch.cat([p["sh_base"], p["sh_rest"][:, : (sh_degree + 1) ** 2 - 1]], 1)
    scale, opacity = p["log_scale"].exp(), p["logit_opacity"].sigmoid()
    camera = (shot.camera_from_world, shot.K, width, height)
    return stipple.torch.rasterize(p["mean"], p["rotation"], scale, opacity, sh, *camera)


def add_statistics(statistics: torch.Tensor, info: stipple.torch.Info, shot: Shot) -> None:
    """Adds each Gaussian's gradient on the screen to the first row, and whether it is visible to the second."""
    height, width, _ = shot.photo.shape
    half_sizes_px = torch.tensor([width / 2, height / 2], device=statistics.device)
    statistics[0] += (info.means2d.grad * half_sizes_px).norm(dim=1)
    statistics[1] += info.opacities > 0


def take_rows(p: Params, optimizer: torch.optim.Adam, rows: torch.Tensor, is_new: torch.Tensor) -> None:
    """Gathers rows of every parameter and its Adam moments; the moments of new rows start at zero."""
    for group in optimizer.param_groups:
        old = p[group["name"]]
        new = torch.nn.Parameter(old.detach()[rows])
        state = optimizer.state.pop(old)
        for moment in ("exp_avg", "exp_avg_sq"):
            state[moment] = state[moment][rows]
            state[moment][is_new] = 0
        optimizer.state[new] = state
        group["params"] = [new]
        p[group["name"]] = new


def rotated(vector: torch.Tensor, quaternion: torch.Tensor) -> torch.Tensor:
    """v + 2 w (u x v) + 2 u x (u x v), where (w, u) is the normalised quaternion."""
    w, u = torch.nn.functional.normalize(quaternion, dim=1).split([1, 3], 1)
    twice = 2 * torch.linalg.cross(u, vector)
    return vector + w * twice + torch.linalg.cross(u, twice)


@torch.no_grad()
def refine(p: Params, optimizer: torch.optim.Adam, statistics: torch.Tensor, extent: float) -> None:
    """Where the mean gradient is large, clones small Gaussians and splits large ones; prunes transparent ones."""
    survives = p["logit_opacity"].sigmoid() >= PRUNE_OPACITY
    grows = survives & (statistics[0] / statistics[1].clamp_min(1) >= GROW_GRADIENT)
    is_large = p["log_scale"].exp().amax(1) > CLONE_SCALE * extent
    masks = (survives & ~(grows & is_large), grows & ~is_large, grows & is_large)
    stays, clones, splits = (mask.nonzero()[:, 0] for mask in masks)
    rows = torch.cat([stays, clones, splits, splits])
    take_rows(p, optimizer, rows, torch.arange(len(rows), device=rows.device) >= len(stays))
    children = slice(len(stays) + len(clones), None)  # each at a position sampled from its parent
    scale = p["log_scale"][children].exp()
    p["mean"][children] += rotated(scale * torch.randn_like(scale), p["rotation"][children])
    p["log_scale"][children] += math.log(CHILD_SCALE)


def train(p: Params, shots: List[Shot], steps: int) -> None:
    extent = extent_of(shots)
    rates = dict(LEARNING_RATES, mean=LEARNING_RATES["mean"] * extent)
    optimizer = torch.optim.Adam([dict(params=[p[n]], lr=rates[n], name=n) for n in p], eps=1e-15)
    refine_every = max(50, steps // 300)  # fewer views would give noisy statistics
    statistics, order = torch.zeros(2, len(p["mean"]), device=p["mean"].device), []
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = rates["mean"] * MEAN_DECAY ** (step / steps)
        order = order or torch.randperm(len(shots)).tolist()
        shot = shots[order.pop()]
        rendered = render(p, shot, sh_degree=min(3, 30 * step // steps))
        loss = stipple.torch.ssim_loss(rendered.color, shot.photo, ssim_weight=0.2)
        optimizer.zero_grad()
        (loss + OPACITY_PENALTY * p["logit_opacity"].sigmoid().mean()).backward()
        optimizer.step()
        add_statistics(statistics, rendered.info, shot)
        if step % refine_every == 0 and steps // 60 < step <= steps // 2:
            refine(p, optimizer, statistics, extent)
            statistics = torch.zeros(2, len(p["mean"]), device=statistics.device)
        if step == 1 or step % max(1, steps // 20) == 0:
            print(f"step {step}  loss {loss.item():.4f}  Gaussians {len(p['mean'])}", flush=True)


@torch.no_grad()
def psnr(p: Params, shot: Shot) -> float:
    return stipple.psnr(render(p, shot, sh_degree=3).color.cpu(), shot.photo.cpu() / 255)


def model_of(p: Params) -> stipple.Gaussians:
    sh = torch.cat([p["sh_base"], p["sh_rest"]], 1)
    fields = (p["mean"], p["log_scale"], p["rotation"], p["logit_opacity"], sh)
    return stipple.Gaussians(*(f.detach().cpu().numpy() for f in fields))


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains Gaussians on a COLMAP or transforms.json scene.")
    parser.add_argument("scene")
    parser.add_argument("-o", "--output", required=True, help="the .ply file to write")
    parser.add_argument("--steps", type=int, default=7000)
    parser.add_argument("--max-resolution", type=int, default=1600, help="longest side of a photo, in pixels")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    scene = stipple.load_scene(args.scene, max_resolution=args.max_resolution, alpha="black")
    p = initial_params(scene, args.device)
    train(p, [shot_of(v, args.device) for v in scene.train_views], args.steps)
    stipple.save_ply(model_of(p), args.output)
    scores = [psnr(p, shot_of(v, args.device)) for v in scene.test_views]
    print(f"PSNR {sum(scores) / len(scores):.2f} dB on {len(scores)} held-out views")


if __name__ == "__main__":
    main()
