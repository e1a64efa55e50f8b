# SPDX-License-Identifier: Apache-2.0
"""Measures the overhead of stipple.torch.rasterize over the stages it calls, forward and backward.

    PYTHONPATH=build/release/python /usr/bin/python3 bench/python_overhead.py [ROUNDS]

Both variants alternate in one process, on the same scene of 165,000 Gaussians at 516x344. The stages are called directly,
once forward and once backward, as a C++ program would. Both variants allocate new memory for their results. Prints the
median time of each in milliseconds and the overhead in percent.
"""
from __future__ import annotations

import statistics
import sys
import time

import numpy as np
import torch

import stipple
import stipple.torch
from stipple import _stipple
from stipple.camera import make_view

COUNT, WIDTH, HEIGHT = 165_000, 516, 344


def scene(device: str) -> list:
    """A slab of Gaussians that fills the image, most of them a few pixels wide."""
    random = np.random.default_rng(1)
    mean = random.uniform([-3, -2, 3], [3, 2, 8], (COUNT, 3))
    values = (
        mean,
        random.normal(size=(COUNT, 4)),
        np.exp(random.normal(-4.2, 0.6, (COUNT, 3))),
        random.uniform(0.05, 0.95, COUNT),
        random.normal(size=(COUNT, 16, 3)) * 0.2,
    )
    return [torch.tensor(v, dtype=torch.float32, device=device) for v in values]


def stages(tensors: list, camera: stipple.Camera, device: str):
    """Calls the stages directly; the gradients are kept until the next run."""
    mean, rotation, scale, opacity, sh = tensors
    inputs = [mean, scale, rotation, opacity, sh]
    new = lambda *shape: torch.empty(shape, device=device)
    kept = []
    dL_dcolor = torch.ones(3, HEIGHT, WIDTH, device=device)
    stream = torch.cuda.current_stream().cuda_stream if device == "cuda" else 0
    at = lambda arrays: _stipple.Addresses(*(t.data_ptr() for t in arrays), 0, 0)

    def run() -> None:
        gradients = [torch.empty_like(t) for t in inputs]
        splat, planes, transmittance = new(COUNT, 16), new(3, HEIGHT, WIDTH), new(HEIGHT, WIDTH)
        visible = torch.empty(((COUNT + 31) // 32, 2), dtype=torch.int32, device=device)
        dL_dsplat = new(COUNT, 10)
        kept.append(gradients)
        one = _stipple.Rasterization(device, COUNT, 3, at(inputs), make_view(camera))
        outputs = (splat, visible, planes, transmittance)
        one.forward(*(t.data_ptr() for t in outputs), 0, 0, 0, 0, stream)
        one.backward(dL_dcolor.data_ptr(), 0, 0, dL_dsplat.data_ptr(), 0, 0, 0, at(gradients), False, False, stream)

    return run, kept.clear


def through_torch(tensors: list, camera: stipple.Camera, device: str):
    """The same through autograd."""
    leaves = [t.clone().requires_grad_() for t in tensors]
    pose, K = torch.eye(4), torch.tensor(camera.K)  # on the host, as docs/python.md advises
    ones = torch.ones(3, HEIGHT, WIDTH, device=device).permute(1, 2, 0)  # laid out like the gradient of a loss

    def run() -> None:
        stipple.torch.rasterize(*leaves, pose, K, WIDTH, HEIGHT).color.backward(ones)

    def forget() -> None:
        for t in leaves:
            t.grad = None

    return run, forget


def timed(way, device: str) -> float:
    """The time of one run in milliseconds, without clearing the previous gradients."""
    run, forget = way
    forget()
    start = time.perf_counter()
    run()
    if device == "cuda":
        torch.cuda.synchronize()
    return 1e3 * (time.perf_counter() - start)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    device = "cuda" if torch.cuda.is_available() else "cpu"
    camera = stipple.Camera(np.eye(4), 400, 400, WIDTH / 2, HEIGHT / 2, WIDTH, HEIGHT)
    tensors = scene(device)
    ways = [stages(tensors, camera, device), through_torch(tensors, camera, device)]
    for way in ways * 3:
        timed(way, device)
    times = [[timed(way, device) for way in ways] for _ in range(rounds)]
    plain, torched = (statistics.median(t[i] for t in times) for i in (0, 1))
    ratio = statistics.median(t[1] / t[0] for t in times)
    print(f"{device}: stages {plain:.2f} ms, stipple.torch {torched:.2f} ms, {100 * (ratio - 1):+.1f} %")


if __name__ == "__main__":
    main()
