# SPDX-License-Identifier: Apache-2.0
"""The replacements reproduce the results of the original implementation, which are stored as fixtures."""
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
from stipple.torch import rasterize  # noqa: E402

ROOT = Path(__file__).resolve().parents[3]
# Small fixtures in the repository, and large ones outside it, if present.
FOLDERS = (
    ROOT / "tests" / "data" / "fixtures",
    Path(os.environ.get("STIPPLE_FIXTURES", ROOT.parent / "shared" / "fixtures")),
)
FIXTURES = {path.stem: path for folder in reversed(FOLDERS) for path in sorted(folder.glob("*.npz"))}
NAMES = sorted(FIXTURES)
PARAMETERS = ("means", "scales", "quats", "opacities", "sh")


class Tolerance(NamedTuple):
    """At most the fraction `outliers` of the pixels differs by more than `pixel`; `gradient` is a relative error."""

    pixel: float
    outliers: float
    rms: float
    gradient: float


def tolerance_for(name: str) -> Tolerance:
    """The tolerances of tests/fixtures_test.cpp, which gives the reasons."""
    if name == "strict_needles":
        return Tolerance(5e-4, 2e-3, 6e-5, 2.5e-2)
    return Tolerance(5e-4, 3e-4, 3e-5, 2e-3) if name.startswith("strict") else Tolerance(0.05, 1e-4, 1e-3, 5e-2)


def projmatrix(viewmatrix, K, width, height, near=0.01, far=100.0):
    """The product that scripts compute for a camera with any principal point."""
    (fx, _, cx), (_, fy, cy), _ = K.tolist()
    projection = torch.tensor([
        [2 * fx / width, 0.0, -(width - 2 * cx) / width, 0.0],
        [0.0, 2 * fy / height, -(height - 2 * cy) / height, 0.0],
        [0.0, 0.0, far / (far - near), -(far * near) / (far - near)],
        [0.0, 0.0, 1.0, 0.0]], device=viewmatrix.device)
    return viewmatrix.unsqueeze(0).bmm(projection.T.unsqueeze(0)).squeeze(0)


class Fixture:
    """A scene with the image and the gradients of the original implementation."""

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

    def settings(self):
        view = self.tensor("view").T
        return GaussianRasterizationSettings(
            image_height=self.height, image_width=self.width, tanfovx=self.width / (2 * float(self.data["fx"])),
            tanfovy=self.height / (2 * float(self.data["fy"])), bg=self.tensor("bg"), scale_modifier=1.0,
            viewmatrix=view, projmatrix=projmatrix(view, self.K, self.width, self.height), sh_degree=self.degree,
            campos=view.inverse()[3, :3], prefiltered=False, debug=False,
        )

    def check_image(self, image):
        difference = (image.detach() - self.tensor("image")).abs()
        assert difference.pow(2).mean().sqrt().item() <= self.tolerance.rms
        assert (difference.amax(0) > self.tolerance.pixel).float().mean().item() <= self.tolerance.outliers

    def check_gradients(self):
        """Skips Gaussians whose centre is outside 1.3 times the field of view, where the original drops a term."""
        view = self.tensor("view")
        in_camera = self.leaf["means"].detach() @ view[:3, :3].T + view[:3, 3]
        x, y = (in_camera[:, i] / in_camera[:, 2] for i in (0, 1))
        inside = (x.abs() < 1.3 * self.width / (2 * float(self.data["fx"]))) & (
            y.abs() < 1.3 * self.height / (2 * float(self.data["fy"])))
        for name, leaf in self.leaf.items():
            ours, theirs = leaf.grad[inside], self.tensor("d_" + name).reshape(leaf.shape)[inside]
            if name == "quats":  # the original does not differentiate the normalisation, which removes the part along q
                q = leaf.detach()[inside]
                theirs = theirs - q * (q * theirs).sum(-1, keepdim=True)
            assert relative_error(ours, theirs) <= self.tolerance.gradient, name


@pytest.mark.parametrize("name", NAMES)
def test_inria_reproduces_the_original(name, device):
    f = Fixture(name, device)
    means2D = torch.zeros(len(f.leaf["means"]), 3, device=device, requires_grad=True)
    image, radii = GaussianRasterizer(f.settings())(
        means3D=f.leaf["means"], means2D=means2D, opacities=f.leaf["opacities"], shs=f.leaf["sh"],
        scales=f.leaf["scales"], rotations=f.leaf["quats"],
    )
    f.check_image(image)
    image.backward(f.tensor("d_image"))
    f.check_gradients()
    assert relative_error(means2D.grad, f.tensor("d_means2d_ndc")) <= f.tolerance.gradient
    # The same Gaussians are visible, except for those too faint to see.
    visible, expected = radii > 0, f.tensor("radii") > 0
    assert not torch.any(visible & ~expected) or (visible & ~expected).float().mean() < 0.01
    assert (visible == expected).float().mean() > 0.9


@pytest.mark.parametrize("name", NAMES)
def test_gsplat_reproduces_the_original(name, device):
    f = Fixture(name, device)
    images, alphas, meta = rasterization(
        f.leaf["means"], f.leaf["quats"], f.leaf["scales"], f.leaf["opacities"][:, 0], f.leaf["sh"],
        f.tensor("view")[None], f.K[None], f.width, f.height, sh_degree=f.degree, near_plane=0.2,
        backgrounds=f.tensor("bg")[None],
    )
    assert alphas.shape == (1, f.height, f.width, 1) and meta["width"] == f.width
    f.check_image(images[0].permute(2, 0, 1))
    meta["means2d"].retain_grad()
    (images[0].permute(2, 0, 1) * f.tensor("d_image")).sum().backward()
    f.check_gradients()
    dense = torch.zeros(len(f.leaf["means"]), 2, device=device)
    dense[meta["gaussian_ids"]] = meta["means2d"].grad
    half = torch.tensor([f.width / 2, f.height / 2], device=device)
    assert relative_error(dense * half, f.tensor("d_means2d_ndc")[:, :2]) <= f.tolerance.gradient


def arguments(cameras=1, device="cpu"):
    pose, K = camera_tensors(camera(), device=device)
    return [*tensors(cloud(60, 2), device=device), pose.expand(cameras, 4, 4), K.expand(cameras, 3, 3), 48, 40]


def test_gsplat_meta_with_and_without_packed(device):
    a = arguments(2, device)
    _, _, packed = rasterization(*a, sh_degree=1, absgrad=True)
    images, _, meta = rasterization(*a, sh_degree=1, packed=False, absgrad=True)
    assert meta["radii"].shape == (2, 60, 2) and meta["radii"].dtype == torch.int32
    assert meta["n_cameras"] == 2 and meta["tile_width"] == 3 and meta["gaussian_ids"] is None
    ids = packed["camera_ids"], packed["gaussian_ids"]
    for key in ("means2d", "radii", "depths", "conics", "opacities"):
        assert torch.equal(packed[key].detach(), meta[key].detach()[ids]), key
    assert not images.requires_grad  # no input requires a gradient
    a[0].requires_grad_()
    images, _, meta = rasterization(*a, sh_degree=1, packed=False, absgrad=True)
    images.sum().backward()
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
def test_gsplat_names_unsupported_arguments(change):
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


def leaves_for_gsplat(device):
    """arguments() for two different cameras, with Gaussians at the camera and nowhere, as leaves."""
    a = [t.detach().clone() if isinstance(t, torch.Tensor) else t for t in arguments(2, device)]
    a[5][1, 0, 3] += 0.2
    a[0][3] = 0
    a[0][4] = float("nan")
    return [t.requires_grad_() if isinstance(t, torch.Tensor) else t for t in a]


def projected(means, viewmats, Ks, cameras, gaussians):
    """Rows of means in pixels, in torch alone."""
    view = viewmats[cameras]
    in_camera = torch.einsum("nij,nj->ni", view[:, :3, :3], means[gaussians]) + view[:, :3, 3]
    focal, center = Ks[cameras][:, [0, 1], [0, 1]], Ks[cameras][:, :2, 2]
    return focal * in_camera[:, :2] / in_camera[:, 2:] + center


@pytest.mark.parametrize("packed", [True, False])
def test_gsplat_gradient_of_a_loss_on_means2d(packed, device):
    a = leaves_for_gsplat(device)
    _, _, meta = rasterization(*a, sh_degree=2, packed=packed)
    visible = (meta["radii"] > 0).all(-1)
    ids = (meta["camera_ids"], meta["gaussian_ids"]) if packed else torch.nonzero(visible, as_tuple=True)
    rows = meta["means2d"] if packed else meta["means2d"][ids]
    weight = torch.randn(len(rows), 2, device=device)
    (rows * weight).sum().backward()

    exact = [t.detach().double().requires_grad_() for t in (a[0], a[5], a[6])]
    expected = projected(*exact, *ids)
    assert torch.allclose(rows.double(), expected, atol=1e-4)
    (expected * weight).sum().backward()
    for name, ours, theirs in zip(("means", "viewmats", "Ks"), (a[0], a[5], a[6]), exact):
        assert relative_error(ours.grad, theirs.grad) < 1e-5, name
    assert all(t.grad is None for t in a[1:5])
    assert torch.all(a[0].grad[3:5] == 0)  # they are not visible


@pytest.mark.parametrize("packed", [True, False])
def test_gsplat_gradients_of_image_and_means2d_add_up(packed, device):
    grads = []
    for of_image, of_means2d in ((1, 0), (0, 1), (1, 1)):
        a = leaves_for_gsplat(device)
        image, _, meta = rasterization(*a, sh_degree=2, packed=packed, absgrad=True)
        meta["means2d"].retain_grad()
        (of_image * image.square().sum() + of_means2d * 1e-2 * meta["means2d"].square().sum()).backward()
        grads.append([meta["means2d"].grad] + [t.grad for t in a[:7]])
        assert meta["means2d"].absgrad.shape == meta["means2d"].grad.shape
    for by_image, by_means2d, by_both in zip(*grads):
        assert relative_error(by_both, by_image + by_means2d) < 1e-5


def test_gsplat_image_gradient_is_not_counted_twice(device):
    a = leaves_for_gsplat(device)
    image, _, meta = rasterization(*a, sh_degree=2, packed=False)
    (by_means2d,) = torch.autograd.grad(image.square().sum(), meta["means2d"], retain_graph=True)
    image.square().sum().backward()
    assert relative_error(meta["means2d"].grad, by_means2d) < 1e-5
    plain = [t.detach().requires_grad_() if isinstance(t, torch.Tensor) else t for t in a]
    color = rasterize(*plain, alpha_max=0.999, near_plane=0.01).color
    color.square().sum().backward()
    for ours, expected in zip(a[:7], plain[:7]):
        assert relative_error(ours.grad, expected.grad) < 1e-5


def test_gsplat_means2d_has_a_gradient_when_only_colors_do(device):
    a = arguments(device=device)
    a[4].requires_grad_()
    image, _, meta = rasterization(*a, sh_degree=2)
    image.sum().backward()
    assert meta["means2d"].grad.abs().sum() > 0 and a[0].grad is None


def test_gsplat_leaves_no_reference_cycle(device):
    a = [t.requires_grad_() if isinstance(t, torch.Tensor) else t for t in arguments(device=device)]
    images, _, meta = rasterization(*a, sh_degree=2)
    known = weakref.ref(meta["means2d"])
    images.sum().backward()
    assert known().grad.abs().sum() > 0
    gc.disable()
    try:
        del meta, images
        assert known() is None
    finally:
        gc.enable()


def test_gsplat_rejects_other_channel_counts():
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


def test_inria_results_and_errors(device):
    means, quats, scales, opacities, sh = tensors(cloud(60, 3), device=device)
    call = dict(means3D=means, means2D=None, opacities=opacities[:, None], scales=scales, rotations=quats)
    rasterizer = GaussianRasterizer(inria_settings())
    assert len(rasterizer(**call, shs=sh)) == 2
    image, radii, inverse_depth = GaussianRasterizer(inria_settings(antialiasing=True))(**call, shs=sh)
    assert image.shape == (3, 40, 48) and radii.dtype == torch.int32 and inverse_depth.shape == (1, 40, 48)
    with pytest.raises(ValueError, match="either shs or colors_precomp"):
        rasterizer(**call)
    with pytest.raises(TypeError, match="rotations must be float32, not float64$"):
        rasterizer(**{**call, "rotations": quats.double()}, shs=sh)
    with pytest.raises(ValueError, match="either scales and rotations, or cov3D_precomp"):
        rasterizer(**call, shs=sh, cov3D_precomp=torch.zeros(60, 6, device=device))
    behind = means.clone()
    behind[:5, 2] = -1
    assert rasterizer.markVisible(behind).tolist() == [False] * 5 + [True] * 55


def test_inria_covariances_equal_scales_and_rotations():
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


def turned_camera(device="cpu"):
    """camera_from_world and K: not at the origin, and with the principal point far from the centre."""
    s, c = np.sin(0.3), np.cos(0.3)
    pose = torch.tensor([[c, 0, s, -0.9], [0, 1, 0, 0.2], [-s, 0, c, 0.5], [0, 0, 0, 1]], dtype=torch.float32)
    K = torch.tensor([[55.0, 0, 17.3], [0, 62, 26.1], [0, 0, 1]])
    return pose.to(device), K.to(device)


def turned_settings(device="cpu", **change):
    pose, K = turned_camera(device)
    fields = dict(
        tanfovx=48 / (2 * 55.0), tanfovy=40 / (2 * 62.0), bg=torch.rand(3, device=device), viewmatrix=pose.T,
        projmatrix=projmatrix(pose.T, K, 48, 40), campos=pose.inverse()[:3, 3],
    )
    return inria_settings(**{**fields, **change})


def test_inria_principal_point(device):
    """Image and gradients are those of rasterize with the same K."""
    settings = turned_settings(device)
    found = []
    for use_inria in (True, False):
        leaves = [t.requires_grad_() for t in tensors(cloud(60, 1), device=device)]
        means, quats, scales, opacities, sh = leaves
        pose, K = turned_camera(device)
        pose.requires_grad_()
        if use_inria:
            rasterizer = GaussianRasterizer(settings._replace(viewmatrix=pose.T))
            image, _ = rasterizer(means, None, opacities, shs=sh, scales=scales, rotations=quats)
        else:
            color = rasterize(means, quats, scales, opacities, sh, pose, K, 48, 40, background=settings.bg).color
            image = color.permute(2, 0, 1)
        weight = torch.linspace(-1, 1, image.numel(), device=device).view(image.shape)
        (image * weight).sum().backward()
        found.append([image, pose.grad] + [t.grad for t in leaves])
    for ours, expected in zip(*found):
        assert relative_error(ours, expected) < 1e-4
    centred, _ = GaussianRasterizer(settings._replace(projmatrix=None))(
        means, None, opacities, shs=sh, scales=scales, rotations=quats)
    assert relative_error(centred, found[0][0]) > 0.1


def test_inria_accepts_a_leading_dimension_of_one(device):
    means, quats, scales, opacities, sh = tensors(cloud(60, 1), device=device)
    plain = turned_settings(device)
    nested = plain._replace(**{k: getattr(plain, k)[None] for k in ("viewmatrix", "projmatrix", "campos")})
    call = dict(means3D=means, means2D=None, opacities=opacities, shs=sh, scales=scales, rotations=quats)
    assert torch.equal(*(GaussianRasterizer(s)(**call)[0] for s in (plain, nested)))
    assert torch.equal(*(GaussianRasterizer(s).markVisible(means) for s in (plain, nested)))


def test_inria_accepts_rounded_matrices():
    """Far from the origin, with products of low precision."""
    generator = torch.Generator().manual_seed(1)
    pose, K = turned_camera()
    pose[:3, 3] *= 1e4
    full = projmatrix(pose.T, K, 48, 40)
    full = full * (1 + 2e-4 * (2 * torch.rand(4, 4, generator=generator) - 1))
    means, quats, scales, opacities, sh = tensors(cloud(60, 1))
    rasterizer = GaussianRasterizer(turned_settings(viewmatrix=pose.T, projmatrix=full, campos=pose.inverse()[:3, 3]))
    rasterizer(means, None, opacities, shs=sh, scales=scales, rotations=quats)


def test_inria_rejects_contradictory_settings():
    means, quats, scales, opacities, sh = tensors(cloud(60, 1))
    good = turned_settings()
    pose, K = turned_camera()
    elsewhere, skewed, opengl = pose.clone(), torch.eye(4), torch.diag(torch.tensor([1.0, 1, 1, -1]))
    elsewhere[0, 3] += 0.3
    skewed[0, 1] = 0.05
    transposed = torch.linalg.inv(good.viewmatrix) @ good.projmatrix

    def complaint(**change):
        with pytest.raises(ValueError) as raised:
            GaussianRasterizer(good._replace(**change))(
                means, None, opacities, shs=sh, scales=scales, rotations=quats)
        return str(raised.value)

    assert complaint(tanfovx=0.5).startswith("tanfovx is 0.5, but x of projmatrix is scaled by 2.29167 and not by 1 /")
    assert complaint(tanfovy=0.5).startswith("tanfovy is 0.5, but y of projmatrix")
    assert complaint(tanfovx=0) == f"tanfovx and tanfovy must be greater than 0, not 0.0 and {40 / 124}"
    assert "skew is not supported" in complaint(projmatrix=good.viewmatrix @ skewed.T @ transposed)
    of_another_view = projmatrix(elsewhere.T, K, 48, 40)
    not_a_product = "projmatrix must be viewmatrix times a transposed projection"
    assert not_a_product in complaint(projmatrix=of_another_view)
    assert not_a_product in complaint(projmatrix=good.projmatrix @ opengl)
    assert "viewmatrix must be invertible" in complaint(viewmatrix=torch.diag(torch.tensor([1.0, 1, 0, 1])))
    assert "the last column of viewmatrix must be (0, 0, 0, 1)" in complaint(viewmatrix=pose)
    assert "must be finite" in complaint(projmatrix=good.projmatrix * float("nan"))
    assert complaint(projmatrix=torch.eye(3)) == "projmatrix must have the shape (4, 4), not (3, 3)"
    assert complaint(campos=torch.zeros(3)).startswith("campos is (0, 0, 0), but the camera of viewmatrix is at (")
    GaussianRasterizer(good._replace(campos=torch.zeros(3)))(  # plain colours do not depend on it
        means, None, opacities, colors_precomp=sh[:, 0], scales=scales, rotations=quats)
