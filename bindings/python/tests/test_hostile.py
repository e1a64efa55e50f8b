# SPDX-License-Identifier: Apache-2.0
"""With malformed input every function returns or raises; nothing crashes or leaks."""
from __future__ import annotations

import gc
import random
from pathlib import Path

import numpy as np
import pytest
from conftest import camera, camera_tensors, cloud, tensors

import stipple

TRIES = 300
EXPECTED = (ValueError, TypeError, NotImplementedError, stipple.Error, MemoryError)


def hostile_array(rng: random.Random, like: np.ndarray):
    """`like` with a wrong shape, type, layout or values; sometimes something that is not an array."""
    choice = rng.randrange(9)
    if choice == 0:
        return rng.choice([None, "text", 3, [], {}, [[1, 2], [3]], object()])
    if choice == 1:
        return np.zeros([rng.randrange(4) for _ in range(rng.randrange(5))], np.float32)
    if choice == 2:
        return like.astype(rng.choice([np.float64, np.float16, np.int32, np.int8, np.bool_, np.complex64]))
    if choice == 3:
        return like[::-1]
    if choice == 4:
        return np.asfortranarray(like)
    if choice == 5:
        return like * rng.choice([np.nan, np.inf, -np.inf, 1e30, -1e30, 0, 1e-30])
    if choice == 6:
        return np.repeat(like, 2, axis=0)[::2]
    if choice == 7:
        return like[: rng.randrange(len(like) + 1)] if like.ndim else like
    return like


def test_numpy_functions_survive_malformed_input():
    rng, done = random.Random(1), 0
    with np.errstate(all="ignore"):
        for _ in range(TRIES):
            g, c = cloud(20, rng.randrange(4)), camera(24, 20)
            fields = {k: getattr(g, k) for k in ("mean", "log_scale", "rotation", "logit_opacity", "sh")}
            for name in rng.sample(list(fields), rng.randrange(1, 3)):
                fields[name] = hostile_array(rng, fields[name])
            try:
                made = stipple.Gaussians(**fields)
                pose = hostile_array(rng, c.camera_from_world) if rng.random() < 0.3 else c.camera_from_world
                fx = rng.choice([30, 1e-20, 1e20, -1, "a"]) if rng.random() < 0.3 else 30
                width = rng.choice([24, 1, 0, -3, 2.5, "x"]) if rng.random() < 0.3 else 24
                of = stipple.Camera(pose, fx, 30, 12, 10, width, 20)
                image = stipple.render(made, of, backend="cpu")
                assert image.color.shape == (of.height, of.width, 3) and np.isfinite(image.color).all()
                projection = stipple.stages.project(made, of, backend="cpu")
                stipple.stages.blend(projection, stipple.stages.bin(projection, of), of)
                stipple.psnr(hostile_array(rng, image.color), image.color)
                stipple.ssim(image.color, hostile_array(rng, image.color))
                done += 1
            except EXPECTED as e:
                assert str(e)
    assert done > TRIES // 10  # not every input was rejected


def hostile_tensor(torch, rng: random.Random, like):
    choice = rng.randrange(10)
    if choice == 0:
        return rng.choice([None, "text", 3, [], np.zeros(3)])
    if choice == 1:
        return torch.zeros([rng.randrange(4) for _ in range(rng.randrange(5))])
    if choice == 2:
        return like.to(rng.choice([torch.float64, torch.float16, torch.int32, torch.bool]))
    if choice == 3:
        return like.flip(0)
    if choice == 4:
        return like.transpose(0, -1).contiguous().transpose(0, -1)
    if choice == 5:
        return like * rng.choice([float("nan"), float("inf"), -1.0, 1e30, 0.0, 1e-30])
    if choice == 6:
        return like.repeat_interleave(2, 0)[::2]
    if choice == 7:
        return like[: rng.randrange(len(like) + 1)] if like.ndim else like
    if choice == 8:
        return like[:1].expand(like.shape)
    return like


def test_torch_functions_survive_malformed_input():
    torch = pytest.importorskip("torch")
    import stipple.torch as st

    rng, done = random.Random(2), 0
    for _ in range(TRIES):
        everything = [*tensors(cloud(20, rng.randrange(4))), *camera_tensors(camera(24, 20)), torch.rand(3)]
        for i in rng.sample(range(8), rng.randrange(1, 3)):
            everything[i] = hostile_tensor(torch, rng, everything[i])
        leaves = [t.detach().requires_grad_() if isinstance(t, torch.Tensor) and t.is_floating_point() else t
                  for t in everything]
        try:
            result = st.rasterize(*leaves[:7], rng.choice([24, 24, 24, 1, 0, -1]), 20, background=leaves[7],
                                  depth=rng.choice([None, "expected", "inverse"]), absgrad=rng.random() < 0.5)
            result.color.sum().backward()
            st.ssim_loss(result.color.detach(), torch.zeros(result.color.shape, dtype=torch.uint8))
            done += 1
        except EXPECTED as e:
            assert str(e)
    assert done > TRIES // 10


def resident_bytes() -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    raise AssertionError("/proc/self/status has no VmRSS")


def growth_over(calls: int, call) -> int:
    """The bytes that the process grows by during the calls, after a warm-up."""
    for _ in range(calls // 10):
        call()
    gc.collect()
    before = resident_bytes()
    for _ in range(calls):
        call()
    gc.collect()
    return resident_bytes() - before


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
def test_ten_thousand_calls_leak_nothing():
    g, c = cloud(50, 1), camera(32, 32)
    # An image has 16 KiB: leaking one in a hundred would be 1.6 MiB.
    assert growth_over(10_000, lambda: stipple.render(g, c, backend="cpu")) < 1 << 20


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc to measure memory")
def test_ten_thousand_gradients_leak_nothing(device):
    torch = pytest.importorskip("torch")
    import stipple.torch as st

    leaves = [t.requires_grad_() for t in tensors(cloud(50, 1), device=device)]
    pose, K = camera_tensors(camera(32, 32), device=device)

    def call():
        for t in leaves:
            t.grad = None
        st.rasterize(*leaves, pose, K, 32, 32, absgrad=True).color.sum().backward()

    if device == "cpu":
        assert growth_over(10_000, call) < 4 << 20
        return
    for _ in range(100):
        call()
    tensor_bytes, (free_bytes, _) = torch.cuda.memory_allocated(), torch.cuda.mem_get_info()
    assert growth_over(10_000, call) < 4 << 20
    assert torch.cuda.memory_allocated() <= tensor_bytes
    assert torch.cuda.mem_get_info()[0] > free_bytes - (4 << 20)  # includes stipple's own buffers
