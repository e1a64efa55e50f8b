# SPDX-License-Identifier: Apache-2.0
"""The stand-ins give what the original implementation gave (../shared/fixtures, where that folder is)."""
from __future__ import annotations

import gc
import os
import weakref
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from conftest import camera, camera_tensors, cloud, relative_error, tensors

torch = pytest.importorskip("torch")
from stipple.compat.gsplat import rasterization  # noqa: E402
from stipple.compat.inria import GaussianRasterizationSettings, GaussianRasterizer  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
# The small ones of the repository, and the large ones beside it.
FOLDERS = (
    ROOT / "tests" / "data" / "fixtures",
    Path(os.environ.get("STIPPLE_FIXTURES", ROOT.parent / "shared" / "fixtures")),
)
FIXTURES = {path.stem: path for folder in reversed(FOLDERS) for path in sorted(folder.glob("*.npz"))}
NAMES = sorted(FIXTURES)
PARAMETERS = ("means", "scales", "quats", "opacities", "sh")


class Tolerance(NamedTuple):
    """Pixels off by more than `pixel` are at most a share `outliers`; the rest is by norm."""

    pixel: float
    outliers: float
    rms: float
    gradient: float


def tolerance_for(name: str) -> Tolerance:
    """As tests/fixtures_test.cpp has them, and says why."""
    if name == "strict_needles":
        return Tolerance(5e-4, 2e-3, 6e-5, 2.5e-2)
    return Tolerance(5e-4, 3e-4, 3e-5, 2e-3) if name.startswith("strict") else Tolerance(0.05, 1e-4, 1e-3, 5e-2)


class Fixture:
    """One scene, what the original drew of it, and its gradients."""

    def __init__(self, name, device):
        self.data, self.device = np.load(FIXTURES[name]), device
        self.width, self.height = int(self.data["width"]), int(self.data["height"])
        self.degree = int(self.data["sh_degree"])
        self.tolerance = tolerance_for(name)
        self.leaf = {k: self.tensor(k).requires_grad_() for k in PARAMETERS}

    def tensor(self, key):
        return torch.tensor(self.data[key], dtype=torch.float32, device=self.device)

    @property
    def K(self):
        fx, fy, cx, cy = (float(self.data[k]) for k in ("fx", "fy", "cx", "cy"))
        return torch.tensor([[fx, 0, cx], [0, fy, cy], [0, 0, 1]], device=self.device)

    def settings(self, **more):
        return GaussianRasterizationSettings(
            image_height=self.height, image_width=self.width, tanfovx=self.width / (2 * float(self.data["fx"])),
            tanfovy=self.height / (2 * float(self.data["fy"])), bg=self.tensor("bg"), scale_modifier=1.0,
            viewmatrix=self.tensor("view").T, projmatrix=None, sh_degree=self.degree, campos=None, prefiltered=False,
            debug=False, **more,
        )

    def check_picture(self, picture):
        difference = (picture.detach() - self.tensor("image")).abs()
        assert difference.pow(2).mean().sqrt().item() <= self.tolerance.rms
        assert (difference.amax(0) > self.tolerance.pixel).float().mean().item() <= self.tolerance.outliers

    def check_gradients(self):
        """Without those whose centre is outside 1.3 x the field of view, where the original drops a term."""
        view = self.tensor("view")
        in_camera = self.leaf["means"].detach() @ view[:3, :3].T + view[:3, 3]
        x, y = (in_camera[:, i] / in_camera[:, 2] for i in (0, 1))
        inside = (x.abs() < 1.3 * self.width / (2 * float(self.data["fx"]))) & (
            y.abs() < 1.3 * self.height / (2 * float(self.data["fy"])))
        for name, leaf in self.leaf.items():
            ours, theirs = leaf.grad[inside], self.tensor("d_" + name).reshape(leaf.shape)[inside]
            if name == "quats":  # theirs is not projected onto the sphere, which normalising them afterwards does
                q = leaf.detach()[inside]
                theirs = theirs - q * (q * theirs).sum(-1, keepdim=True)
            assert relative_error(ours, theirs) <= self.tolerance.gradient, name


@pytest.mark.parametrize("name", NAMES)
def test_inria_draws_what_the_original_drew(name, device):
    f = Fixture(name, device)
    places = torch.zeros(len(f.leaf["means"]), 3, device=device, requires_grad=True)
    picture, radii = GaussianRasterizer(f.settings())(
        means3D=f.leaf["means"], means2D=places, opacities=f.leaf["opacities"], shs=f.leaf["sh"],
        scales=f.leaf["scales"], rotations=f.leaf["quats"],
    )
    f.check_picture(picture)
    picture.backward(f.tensor("d_image"))
    f.check_gradients()
    assert relative_error(places.grad, f.tensor("d_means2d_ndc")) <= f.tolerance.gradient
    # what is drawn there is drawn here, but for what is too faint to see
    seen, seen_there = radii > 0, f.tensor("radii") > 0
    assert not torch.any(seen & ~seen_there) or (seen & ~seen_there).float().mean() < 0.01
    assert (seen == seen_there).float().mean() > 0.9


@pytest.mark.parametrize("name", NAMES)
def test_gsplat_draws_what_the_original_drew(name, device):
    f = Fixture(name, device)
    pictures, alphas, meta = rasterization(
        f.leaf["means"], f.leaf["quats"], f.leaf["scales"], f.leaf["opacities"][:, 0], f.leaf["sh"],
        f.tensor("view")[None], f.K[None], f.width, f.height, sh_degree=f.degree, near_plane=0.2,
        backgrounds=f.tensor("bg")[None],
    )
    assert alphas.shape == (1, f.height, f.width, 1) and meta["width"] == f.width
    f.check_picture(pictures[0].permute(2, 0, 1))
    meta["means2d"].retain_grad()
    (pictures[0].permute(2, 0, 1) * f.tensor("d_image")).sum().backward()
    f.check_gradients()
    dense = torch.zeros(len(f.leaf["means"]), 2, device=device)
    dense[meta["gaussian_ids"]] = meta["means2d"].grad
    half = torch.tensor([f.width / 2, f.height / 2], device=device)
    assert relative_error(dense * half, f.tensor("d_means2d_ndc")[:, :2]) <= f.tolerance.gradient


def arguments(cameras=1, device="cpu"):
    pose, K = camera_tensors(camera(), device=device)
    return [*tensors(cloud(60, 2), device=device), pose.expand(cameras, 4, 4), K.expand(cameras, 3, 3), 48, 40]


def test_gsplat_meta_packed_or_not(device):
    a = arguments(2, device)
    _, _, packed = rasterization(*a, sh_degree=1, absgrad=True)
    pictures, _, meta = rasterization(*a, sh_degree=1, packed=False, absgrad=True)
    assert meta["radii"].shape == (2, 60, 2) and meta["radii"].dtype == torch.int32
    assert meta["n_cameras"] == 2 and meta["tile_width"] == 3 and meta["gaussian_ids"] is None
    ids = packed["camera_ids"], packed["gaussian_ids"]
    for key in ("means2d", "radii", "depths", "conics", "opacities"):
        assert torch.equal(packed[key].detach(), meta[key].detach()[ids]), key
    assert not pictures.requires_grad  # nothing was asked for
    a[0].requires_grad_()
    pictures, _, meta = rasterization(*a, sh_degree=1, packed=False, absgrad=True)
    pictures.sum().backward()
    assert meta["means2d"].grad.shape == meta["means2d"].absgrad.shape == (2, 60, 2)
    assert meta["means2d"].absgrad.abs().sum() > 0


def test_gsplat_render_modes(device):
    a = arguments(device=device)
    rgb, alpha, _ = rasterization(*a, sh_degree=2)
    both, _, _ = rasterization(*a, sh_degree=2, render_mode="RGB+D")
    depth, _, _ = rasterization(*a, sh_degree=2, render_mode="D")
    expected, _, _ = rasterization(*a, sh_degree=2, render_mode="ED")
    assert both.shape[-1] == 4 and torch.equal(both[..., :3], rgb) and torch.equal(both[..., 3:], depth)
    seen = alpha > 0.5
    assert torch.allclose((expected * alpha)[seen], depth[seen], rtol=1e-5)
    assert 3 < expected[seen].min() and expected[seen].max() < 5
    colors, _, _ = rasterization(*a[:4], torch.rand(1, 60, 3, device=device), *a[5:])
    assert colors.shape == (1, 40, 48, 3)


@pytest.mark.parametrize("change", [
    {"far_plane": 10.0}, {"camera_model": "fisheye"}, {"distributed": True}, {"radius_clip": 1.0},
    {"sparse_grad": True}, {"with_ut": True}, {"tile_size": 8}, {"radial_coeffs": torch.zeros(1, 4)},
])
def test_gsplat_refuses_by_name_what_it_does_not_know(change):
    with pytest.raises(NotImplementedError, match=next(iter(change))):
        rasterization(*arguments(), sh_degree=2, **change)


def test_gsplat_other_arguments():
    a = arguments()
    rasterization(*a, sh_degree=2, radial_coeffs=None, rolling_shutter=None)
    with pytest.raises(TypeError, match="unexpected argument 'backgruonds'"):
        rasterization(*a, sh_degree=2, backgruonds=None)
    with pytest.raises(NotImplementedError, match="batch dimensions"):
        rasterization(a[0][None], *a[1:], sh_degree=2)
    with pytest.raises(TypeError, match="viewmats must be float32, not float64$"):
        rasterization(*a[:5], a[5].double(), *a[6:], sh_degree=2)


def test_gsplat_keeps_nothing(device):
    a = [t.requires_grad_() if isinstance(t, torch.Tensor) else t for t in arguments(device=device)]
    pictures, _, meta = rasterization(*a, sh_degree=2)
    known = weakref.ref(meta["means2d"])
    pictures.sum().backward()
    assert known().grad.abs().sum() > 0
    gc.disable()
    try:
        del meta, pictures
        assert known() is None
    finally:
        gc.enable()


def test_gsplat_refuses_other_channels():
    a = arguments()
    with pytest.raises(NotImplementedError, match="colors with 8 channels"):
        rasterization(*a[:4], torch.rand(60, 8), *a[5:])
    with pytest.raises(ValueError, match="viewmats must have the shape"):
        rasterization(*a[:5], torch.eye(4), *a[6:], sh_degree=2)


def inria_settings(**change):
    pose, _ = camera_tensors(camera())
    fields = dict(
        image_height=40, image_width=48, tanfovx=0.4, tanfovy=0.35, bg=torch.zeros(3), scale_modifier=1.0,
        viewmatrix=pose.T, projmatrix=None, sh_degree=1, campos=None, prefiltered=False, debug=False,
    )
    return GaussianRasterizationSettings(**{**fields, **change})


def test_inria_calls(device):
    means, quats, scales, opacities, sh = tensors(cloud(60, 3), device=device)
    call = dict(means3D=means, means2D=None, opacities=opacities[:, None], scales=scales, rotations=quats)
    rasterizer = GaussianRasterizer(inria_settings())
    assert len(rasterizer(**call, shs=sh)) == 2
    picture, radii, inverse_depth = GaussianRasterizer(inria_settings(antialiasing=True))(**call, shs=sh)
    assert picture.shape == (3, 40, 48) and radii.dtype == torch.int32 and inverse_depth.shape == (1, 40, 48)
    with pytest.raises(ValueError, match="either shs or colors_precomp"):
        rasterizer(**call)
    with pytest.raises(TypeError, match="rotations must be float32, not float64$"):
        rasterizer(**{**call, "rotations": quats.double()}, shs=sh)
    with pytest.raises(ValueError, match="either scales and rotations, or cov3D_precomp"):
        rasterizer(**call, shs=sh, cov3D_precomp=torch.zeros(60, 6, device=device))
    behind = means.clone()
    behind[:5, 2] = -1
    assert rasterizer.markVisible(behind).tolist() == [False] * 5 + [True] * 55


def test_inria_covariances_are_scales_and_rotations():
    means, quats, scales, opacities, sh = tensors(cloud(60, 1))
    q = torch.nn.functional.normalize(quats)
    w, x, y, z = q.unbind(-1)
    rotation = torch.stack([
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1).view(-1, 3, 3)
    full = rotation @ torch.diag_embed(scales**2) @ rotation.transpose(1, 2)
    packed = torch.stack([full[:, i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))], -1)
    rasterizer = GaussianRasterizer(inria_settings())
    a, _ = rasterizer(means, None, opacities, shs=sh, scales=scales, rotations=quats)
    b, _ = rasterizer(means, None, opacities, shs=sh, cov3D_precomp=packed)
    assert torch.allclose(a, b, atol=1e-4)
