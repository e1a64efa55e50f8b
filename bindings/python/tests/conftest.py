# SPDX-License-Identifier: Apache-2.0
"""Helpers that the tests share."""
from __future__ import annotations

from typing import Any, Tuple

import numpy as np
import pytest

import stipple


def cloud(count: int, sh_degree: int = 1, seed: int = 0) -> stipple.Gaussians:
    """Random Gaussians in front of the camera of camera()."""
    random = np.random.default_rng(seed)
    mean = random.uniform(-1, 1, (count, 3))
    mean[:, 2] += 4
    return stipple.Gaussians(
        mean=mean,
        log_scale=random.uniform(-3, -1.5, (count, 3)),
        rotation=random.normal(size=(count, 4)),
        logit_opacity=random.uniform(-2, 2, count),
        sh=random.normal(size=(count, (sh_degree + 1) ** 2, 3)) * 0.4,
    )


def camera(width: int = 48, height: int = 40) -> stipple.Camera:
    """A camera at the origin that looks along +z."""
    return stipple.Camera(np.eye(4), 1.2 * width, 1.2 * width, width / 2, height / 2 + 1, width, height)


def tensors(gaussians: stipple.Gaussians, dtype: Any = None, device: str = "cpu") -> Tuple[Any, ...]:
    """Means, quaternions, scales, opacities and SH coefficients, as stipple.torch takes them."""
    torch = pytest.importorskip("torch")
    arrays = (gaussians.mean, gaussians.rotation, gaussians.scale, gaussians.opacity, gaussians.sh)
    return tuple(torch.tensor(a, dtype=dtype or torch.float32, device=device) for a in arrays)


def camera_tensors(of: stipple.Camera, dtype: Any = None, device: str = "cpu") -> Tuple[Any, Any]:
    """camera_from_world (4, 4) and K."""
    torch = pytest.importorskip("torch")
    pose = np.vstack([of.camera_from_world, [0, 0, 0, 1]])
    return tuple(torch.tensor(a, dtype=dtype or torch.float32, device=device) for a in (pose, of.K))


def torch_devices() -> list:
    """The torch devices of this machine."""
    try:
        import torch
    except ImportError:
        return []
    return ["cpu"] + (["cuda"] if torch.cuda.is_available() else [])


@pytest.fixture(params=torch_devices())
def device(request: Any) -> str:
    """Each torch device that stipple supports."""
    return request.param


def usable_backends() -> list:
    """The names of the backends that work on this machine."""
    return [d.name for d in stipple.devices() if d.is_usable]


def relative_error(a: Any, b: Any) -> float:
    """|a - b| / |b|, for arrays and for tensors on any device."""
    a, b = (np.asarray(v.detach().cpu() if hasattr(v, "detach") else v, np.float64) for v in (a, b))
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))
