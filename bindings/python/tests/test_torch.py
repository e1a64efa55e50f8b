# SPDX-License-Identifier: Apache-2.0
"""stipple.torch: exact gradients of all inputs, on the device of the tensors."""
from __future__ import annotations

import threading

import numpy as np
import pytest
from conftest import camera, camera_tensors, cloud, relative_error, tensors, torch_devices

import stipple

torch = pytest.importorskip("torch")
import stipple.torch as st  # noqa: E402

NAMES = ("means", "quats", "scales", "opacities", "colors", "camera_from_world", "K", "background")


def inputs(count=12, sh_degree=1, dtype=torch.float64, size=(24, 20), device="cpu"):
    """Leaf tensors in the order of NAMES."""
    of = camera(*size)
    background = torch.tensor([0.2, 0.3, 0.4], dtype=dtype, device=device)
    everything = (*tensors(cloud(count, sh_degree), dtype, device), *camera_tensors(of, dtype, device), background)
    return [t.clone().requires_grad_() for t in everything]


def draw(leaves, size=(24, 20), **options):
    return st.rasterize(*leaves[:7], *size, background=leaves[7], **options)


def weighted_sum(result, seed=0):
    """A loss that depends on every output pixel with a random weight."""
    parts = [result.color, result.alpha] + ([] if result.depth is None else [result.depth])
    flat = torch.cat([p.reshape(-1) for p in parts])
    weights = np.random.default_rng(seed).normal(size=len(flat))
    return (flat * torch.tensor(weights, dtype=flat.dtype, device=flat.device)).sum()


def assert_same(a, b):
    """Bit-identical on the CPU; on a GPU the order of summation varies."""
    if a.is_cuda:
        assert relative_error(a, b) < 1e-5
    else:
        assert torch.equal(a, b)


@pytest.mark.parametrize("options", [
    {"depth": "expected"}, {"depth": "inverse", "antialiased": True}, {"scale_modifier": 0.7, "alpha_max": 0.5},
], ids=["plain", "antialiased", "modified"])
def test_gradcheck(options):
    def outputs(*leaves):
        result = draw(leaves, backend="reference", **options)
        return tuple(t for t in result[:3] if t is not None)

    assert torch.autograd.gradcheck(outputs, inputs(), eps=1e-6, atol=1e-5)


def test_gradcheck_of_colors_and_covariances():
    torch.manual_seed(1)
    leaves = inputs()
    colors = torch.rand(12, 3, dtype=torch.float64, requires_grad=True)
    root = torch.randn(12, 3, 3, dtype=torch.float64) * 0.15
    full = root @ root.transpose(1, 2) + 0.01 * torch.eye(3, dtype=torch.float64)
    packed = torch.stack([full[:, i, j] for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))], -1)
    packed.requires_grad_()

    def outputs(means, opacities, rgb, covariances):
        return st.rasterize(means, None, None, opacities, rgb, *leaves[5:7], 24, 20, covariances=covariances,
                            backend="reference")

    exact = (leaves[0], leaves[3], colors, packed)
    assert torch.autograd.gradcheck(lambda *a: outputs(*a)[:2], exact, eps=1e-6, atol=1e-5)
    weighted_sum(outputs(*exact)).backward()
    for device in torch_devices():
        as_float = [t.detach().float().to(device).requires_grad_() for t in exact]
        pose, K = leaves[5].detach().float(), leaves[6].detach().float()
        rough = st.rasterize(as_float[0], None, None, *as_float[1:3], pose, K, 24, 20, covariances=as_float[3])
        weighted_sum(rough).backward()
        for a, b in zip(as_float, exact):
            assert relative_error(a.grad, b.grad) < 1e-4


@pytest.mark.parametrize("options", [{}, {"depth": "expected"}, {"depth": "inverse", "antialiased": True}])
@pytest.mark.parametrize("sh_degree", [0, 1, 2, 3])
def test_float32_agrees_with_the_reference(device, options, sh_degree):
    exact, size = inputs(60, sh_degree, size=(40, 30)), (40, 30)
    rough = [t.detach().float().to(device).requires_grad_() for t in exact]
    a, b = draw(rough, size, **options), draw(exact, size, backend="reference", **options)
    assert np.allclose(a.color.detach().cpu(), b.color.detach(), atol=2e-5)
    weighted_sum(a).backward()
    weighted_sum(b).backward()
    for name, x, y in zip(NAMES, rough, exact):
        assert relative_error(x.grad, y.grad) < 1e-4, name
    assert relative_error(a.info.means2d.grad, b.info.means2d.grad) < 1e-4


def test_same_image_as_render(device):
    g, c = cloud(300, 3), camera()
    color, alpha, depth = stipple.render(g, c, background=(0.2, 0.3, 0.4), depth="expected", backend="cpu")
    with torch.no_grad():
        result = st.rasterize(*tensors(g, device=device), *camera_tensors(c), 48, 40, depth="expected",
                              background=torch.tensor([0.2, 0.3, 0.4], device=device))
    assert np.allclose(result.color.cpu(), color, atol=1e-5) and np.allclose(result.alpha.cpu(), alpha, atol=1e-5)
    assert np.allclose(result.depth.cpu(), depth, atol=1e-4)
    assert result.color.shape == (40, 48, 3) and result.alpha.shape == (40, 48)


def test_several_cameras_equal_one_call_per_camera(device):
    leaves = inputs(40, 2, torch.float32, device=device)
    poses = torch.stack([leaves[5].detach(), leaves[5].detach()])
    poses[1, 0, 3] += 0.1
    poses.requires_grad_()
    Ks = leaves[6].detach().expand(2, 3, 3)
    backgrounds = torch.rand(2, 3, device=device)
    both = st.rasterize(*leaves[:5], poses, Ks, 24, 20, background=backgrounds, depth="expected", absgrad=True)
    assert both.color.shape == (2, 20, 24, 3) and both.info.means2d.shape == (2, 40, 2)
    each = [st.rasterize(*leaves[:5], poses[i], Ks[i], 24, 20, background=backgrounds[i], depth="expected",
                         absgrad=True) for i in range(2)]
    for i in range(2):
        assert torch.equal(both.color[i], each[i].color) and torch.equal(both.depth[i], each[i].depth)
        assert torch.equal(both.info.radii[i], each[i].info.radii)
    both.color.sum().backward()
    together, pose_gradient = leaves[0].grad.clone(), poses.grad.clone()
    for t in leaves[:5] + [poses]:
        t.grad = None
    (each[0].color.sum() + each[1].color.sum()).backward()
    assert relative_error(leaves[0].grad, together) < 1e-5 and relative_error(poses.grad, pose_gradient) < 1e-5
    for i in range(2):
        assert_same(both.info.means2d.grad[i], each[i].info.means2d.grad)
        assert_same(both.info.means2d.absgrad[i], each[i].info.means2d.absgrad)
    assert torch.all(both.info.means2d.absgrad + 1e-4 >= both.info.means2d.grad.abs())


def test_colors_per_camera(device):
    leaves = inputs(10, 0, torch.float32, device=device)
    colors = [torch.zeros(10, 3, device=device), torch.ones(10, 3, device=device)]
    poses, Ks = leaves[5].detach().expand(2, 4, 4), leaves[6].detach().expand(2, 3, 3)
    result = st.rasterize(*leaves[:4], colors, poses, Ks, 24, 20)
    assert result.color[0].max() == 0 and result.color[1].max() > 0.1
    with pytest.raises(ValueError, match="colors has 1 tensors, but there are 2 cameras"):
        st.rasterize(*leaves[:4], colors[:1], poses, Ks, 24, 20)


def test_layouts_do_not_matter(device):
    leaves = inputs(30, 1, torch.float32, device=device)
    expected = draw(leaves)
    wide = torch.randn(60, 7, device=device)
    wide[::2, 2:5] = leaves[0].detach()
    flat = torch.randn(30 * 4 + 1, device=device)
    flat[1:] = leaves[1].detach().reshape(-1)
    transposed = leaves[2].detach().T.contiguous().T
    permuted = leaves[4].detach().permute(2, 1, 0).contiguous().permute(2, 1, 0)
    odd = [wide[::2, 2:5], flat[1:].view(30, 4), transposed, leaves[3].detach().flip(0).flip(0), permuted]
    odd = [t.detach().requires_grad_() for t in odd]
    result = draw([*odd, *leaves[5:]])
    assert torch.equal(result.color, expected.color)
    plain = [t.detach().requires_grad_() for t in leaves]
    result.color.permute(1, 0, 2).flip(0).pow(2).sum().backward()  # the gradient has another layout, too
    draw(plain).color.pow(2).sum().backward()
    for a, b in zip(odd, plain):
        assert relative_error(a.grad, b.grad) < 1e-5


def test_no_graph_without_gradients(device):
    leaves = inputs(20, 1, torch.float32, device=device)
    with torch.no_grad():
        result = draw(leaves, absgrad=True)
    assert not result.color.requires_grad and not result.info.means2d.requires_grad
    detached = draw([t.detach() for t in leaves])
    assert not detached.color.requires_grad and not detached.info.means2d.requires_grad
    only_pose = [t.detach() for t in leaves]
    only_pose[5].requires_grad_()
    result = draw(only_pose)
    result.color.sum().backward()
    assert only_pose[5].grad.abs().sum() > 0 and only_pose[0].grad is None
    assert result.info.means2d.grad is not None


def test_backward_twice_raises_the_usual_error(device):
    leaves = inputs(20, 1, torch.float32, device=device)
    loss = weighted_sum(draw(leaves))
    loss.backward(retain_graph=True)
    once = leaves[0].grad.clone()
    loss.backward()
    assert relative_error(leaves[0].grad, 2 * once) < 1e-5
    with pytest.raises(RuntimeError, match="second time"):
        loss.backward()


def test_no_gaussians(device):
    none = [torch.zeros(0, n, device=device, requires_grad=True) for n in (3, 4, 3)]
    pose, K = camera_tensors(camera(), device=device)
    K.requires_grad_()
    opacities, sh = torch.zeros(0, device=device), torch.zeros(0, 4, 3, device=device)
    result = st.rasterize(*none, opacities, sh, pose, K, 1, 1, background=torch.ones(3))
    assert result.color.tolist() == [[[1, 1, 1]]] and result.info.radii.shape == (0, 2)
    result.color.sum().backward()
    assert torch.all(K.grad == 0) and none[0].grad.shape == (0, 3)


def test_backward_after_the_rendering_thread_has_ended(device):
    leaves, results = inputs(50, 1, torch.float32, device=device), []
    thread = threading.Thread(target=lambda: results.append(draw(leaves)))
    thread.start()
    thread.join()
    weighted_sum(results[0]).backward()
    once = leaves[0].grad.clone()
    leaves[0].grad = None
    weighted_sum(draw(leaves)).backward()
    assert_same(once, leaves[0].grad)


def test_changes_in_place_are_detected(device):
    leaves = inputs(20, 1, torch.float32, device=device)
    loss = weighted_sum(draw(leaves))
    with torch.no_grad():
        leaves[0].add_(1)
    with pytest.raises(RuntimeError, match="inplace"):
        loss.backward()
    image = draw(leaves).color
    image.clamp_(0, 1)  # the backward pass needs the original values
    with pytest.raises(RuntimeError, match="inplace"):
        image.sum().backward()


def test_backward_keeps_the_tensors_it_needs(device):
    leaves = inputs(3000, 1, torch.float32, device=device)
    weighted_sum(draw(leaves, depth="expected")).backward()
    expected = [t.grad.clone() for t in leaves]
    for t in leaves:
        t.grad = None
    loss = weighted_sum(draw(leaves, depth="expected"))  # the rest of the result is freed
    sizes = (3000 * 16, 3000 * 10, 3000 * 3, 24 * 20, 3 * 24 * 20)
    junk = [torch.full((n,), float("nan"), device=device) for n in sizes for _ in range(8)]
    loss.backward()
    for a, b in zip(leaves, expected):
        assert_same(a.grad, b)
    del junk


def test_only_requested_gradients_are_computed(device):
    leaves = [t.detach() for t in inputs(20, 1, torch.float32, device=device)]
    leaves[3].requires_grad_()
    draw(leaves).alpha.sum().backward()
    assert leaves[3].grad.abs().sum() > 0 and leaves[0].grad is None


@pytest.mark.parametrize("opacity", [1.0, 0.9999, 0.0])
def test_extreme_opacities_have_finite_gradients(device, opacity):
    leaves = inputs(20, 0, torch.float32, device=device)
    leaves[3] = torch.full((20,), opacity, device=device, requires_grad=True)
    result = draw(leaves)
    result.color.sum().backward()
    for t in leaves:
        assert torch.isfinite(t.grad).all()
    if opacity > 0:
        exact = inputs(20, 0)
        exact[3] = torch.full((20,), opacity, dtype=torch.float64, requires_grad=True)
        draw(exact, backend="reference").color.sum().backward()
        # The reference takes logits, and that of an opacity of 1 is infinite: there it is not exact.
        assert relative_error(leaves[3].grad, exact[3].grad) < (1e-3 if opacity == 1 else 1e-4)


def test_gradcheck_of_features():
    """Gradients of the features, and of all other inputs through the features alone."""
    leaves = inputs()
    features = torch.randn(12, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(5), requires_grad=True)
    weight = torch.randn(20, 24, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(6))

    def value(features, *leaves):
        return (draw(leaves, backend="reference", features=features).features * weight).sum()

    assert torch.autograd.gradcheck(value, (features, *leaves), eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("count", [1, 3, 4, 7, 32])
def test_features_agree_with_the_reference(device, count):
    generator = torch.Generator().manual_seed(count)
    values = torch.randn(12, count, generator=generator)
    weight = torch.randn(20, 24, count, generator=generator)
    found = []
    for kind, where, backend in ((torch.float64, "cpu", "reference"), (torch.float32, device, None)):
        leaves = inputs(dtype=kind, device=where)
        features = values.to(kind).to(where).requires_grad_()
        result = draw(leaves, backend=backend, features=features)
        assert result.features.shape == (20, 24, count) and len(result) == 4
        (result.features * weight.to(result.features)).sum().backward()
        found.append([result.features, features.grad] + [leaf.grad for leaf in leaves[:4]])
    for ours, expected in zip(found[1], found[0]):
        assert relative_error(ours, expected) < 1e-4


def test_gradients_of_features_and_colors_add_up(device):
    features = torch.randn(12, 6, device=device, generator=torch.Generator(device).manual_seed(1))
    grads = []
    for of_color, of_features in ((1, 1), (1, 0), (0, 1)):
        leaves = inputs(dtype=torch.float32, device=device)
        result = draw(leaves, features=features)
        (of_color * result.color.sum() + of_features * (result.features**2).sum()).backward()
        grads.append(leaves[0].grad)
    assert relative_error(grads[0], grads[1] + grads[2]) < 1e-4
    leaves = inputs(dtype=torch.float32, device=device)
    assert torch.equal(draw(leaves, features=features).color, draw(leaves).color)
    assert draw(leaves).features is None


def test_features_of_several_cameras(device):
    leaves = inputs(dtype=torch.float32, device=device)
    pose, K = leaves[5], leaves[6]
    features = torch.randn(12, 5, device=device, requires_grad=True)
    both = st.rasterize(*leaves[:5], torch.stack([pose, pose]), K, 24, 20, features=features)
    assert both.features.shape == (2, 20, 24, 5)
    assert torch.equal(both.features[0], both.features[1])
    both.features.sum().backward()
    assert features.grad.shape == (12, 5) and torch.any(features.grad != 0)


def test_means2d_given_by_the_caller(device):
    leaves = inputs(20, 1, torch.float32, device=device)
    given = torch.zeros(20, 2, device=device, requires_grad=True)
    a = draw(leaves, means2d=given * torch.tensor([12.0, 10.0], device=device))
    weighted_sum(a).backward()
    b = draw(leaves)
    weighted_sum(b).backward()
    assert relative_error(given.grad, b.info.means2d.grad * torch.tensor([12.0, 10.0], device=device)) < 1e-4
    assert torch.equal(a.info.means2d, b.info.means2d)
    leaf = torch.zeros(20, 2, device=device, requires_grad=True)
    c = draw(leaves, means2d=leaf)
    assert torch.equal(c.info.means2d, b.info.means2d) and torch.all(leaf == 0)  # it is not written to


def test_torch_and_stages_learn_alike(device):
    """100 steps of torch's Adam lower the loss as the library's optimiser does with the same learning rates."""
    g, target = cloud(300, 1), torch.tensor(np.random.default_rng(3).integers(0, 256, (40, 48, 3)), dtype=torch.uint8)
    pose, K = camera_tensors(camera(), device=device)
    leaf = lambda array: torch.tensor(array, device=device, requires_grad=True)
    mean, rotation, log_scale, logit = map(leaf, (g.mean, g.rotation, g.log_scale, g.logit_opacity))
    base, rest = leaf(g.sh[:, :1]), leaf(g.sh[:, 1:])
    rates = ((mean, 2e-3), (log_scale, 1e-2), (rotation, 1e-3), (logit, 3e-2), (base, 2e-2), (rest, 1e-3))
    adam = torch.optim.Adam([{"params": [p], "lr": r} for p, r in rates], eps=1e-15)
    background, values = torch.tensor([0.1, 0.2, 0.3], device=device), []
    for _ in range(100):
        image = st.rasterize(mean, rotation, log_scale.exp(), logit.sigmoid(), torch.cat([base, rest], 1), pose, K,
                             48, 40, background=background)
        loss = st.ssim_loss(image.color, target.to(device), ssim_weight=0.2)
        adam.zero_grad()
        loss.backward()
        adam.step()
        values.append(loss.item())
    ours, moments = [], stipple.stages.Moments()
    options = {"background": (0.1, 0.2, 0.3)}
    for step in range(1, 101):
        c = camera()
        projection = stipple.stages.project(g, c, backend="cpu", **options)
        bins = stipple.stages.bin(projection, c, **options)
        frame = stipple.stages.blend(projection, bins, c, **options)
        value, _, dL_dframe = stipple.stages.loss(frame, target.numpy())
        dL_dsplat = stipple.stages.blend_backward(projection, bins, c, frame, dL_dframe, **options)
        gradients, _ = stipple.stages.project_backward(g, c, projection, dL_dsplat, **options)
        g = stipple.stages.optimize(g, gradients, projection, moments, mean=2e-3, log_scale=1e-2, rotation=1e-3,
                                    logit_opacity=3e-2, sh_base=2e-2, sh_rest=1e-3, step=step)
        ours.append(value)
    assert values[0] == pytest.approx(ours[0], rel=1e-5)
    assert values[-1] < 0.85 * values[0]
    assert values[-1] == pytest.approx(ours[-1], rel=0.02)


def test_ssim_loss(device):
    random = np.random.default_rng(7)
    photo = torch.tensor(random.integers(0, 256, (30, 40, 3)), dtype=torch.uint8, device=device)
    image = torch.tensor(random.uniform(size=(30, 40, 3)), dtype=torch.float32, device=device, requires_grad=True)
    exact = image.detach().double().requires_grad_()
    for ssim_weight in (1.0, 0.2, 0.0):
        image.grad = exact.grad = None
        a = st.ssim_loss(image, photo, ssim_weight=ssim_weight)
        b = st.ssim_loss(exact, photo.double() / 255, ssim_weight=ssim_weight)
        assert a.item() == pytest.approx(b.item(), rel=1e-5)
        (3 * a).backward()
        (3 * b).backward()
        assert relative_error(image.grad, exact.grad) < 1e-4
    small = torch.rand(13, 12, 3, dtype=torch.float64, requires_grad=True)
    other = torch.rand(13, 12, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, y: st.ssim_loss(x, y), (small, other))
    half = torch.ones(30, 40, device=device)
    half[:, 20:] = 0
    st.ssim_loss(image, photo, ssim_weight=0.0, weight=half).backward()
    image.grad = None
    st.ssim_loss(image, photo, ssim_weight=0.0, weight=half).backward()
    assert torch.all(image.grad[:, 20:] == 0) and torch.any(image.grad[:, :20] != 0)


@pytest.mark.parametrize("change, error, message", [
    ({"means": np.zeros((12, 3))}, TypeError, "means must be a torch.Tensor, not ndarray"),
    ({"means": torch.zeros(12, 3, dtype=torch.float64)}, TypeError, "means must be float32, not float64, or use back"),
    ({"quats": torch.zeros(12, 3)}, ValueError, r"quats must have the shape \(12, 4\), not \(12, 3\)"),
    ({"scales": torch.zeros(11, 3)}, ValueError, r"scales must have the shape \(12, 3\), not \(11, 3\)"),
    ({"opacities": torch.zeros(12, 1)}, ValueError, r"opacities must have the shape \(12,\)"),
    ({"opacities": torch.zeros(12).to_sparse()}, TypeError, "opacities must be dense"),
    ({"colors": torch.zeros(12, 5, 3)}, ValueError, "colors must have 1, 4, 9 or 16 coefficients, not 5"),
    ({"colors": torch.zeros(12, 4)}, ValueError, r"colors must have the shape \(12, 3\)"),
    ({"camera_from_world": torch.eye(3)}, ValueError, "camera_from_world must have the shape"),
    ({"K": torch.eye(3).expand(2, 3, 3)}, ValueError, "K has 2 matrices, but camera_from_world has 1"),
    ({"K": torch.tensor([[30.0, 5, 12], [0, 30, 10], [0, 0, 1]])}, ValueError, "skew is not supported"),
    ({"absgrad": True, "backend": "reference"}, ValueError, "absgrad is not supported"),
    ({"K": torch.diag(torch.tensor([0.0, 30, 1]))}, ValueError, "fx and fy must be greater than 0"),
    ({"K": torch.tensor([[30.0, 0, float("nan")], [0, 30, 10], [0, 0, 1]])}, ValueError, "cx must be finite, not nan"),
    ({"K": torch.tensor([[float("inf"), 0, 12], [0, 30, 10], [0, 0, 1]])}, ValueError, "fx must be finite, not inf"),
    ({"background": torch.zeros(4)}, ValueError, "background must have the shape"),
    ({"width": 0}, ValueError, "width must be a whole number from 1"),
    ({"height": 2.5}, ValueError, "height must be a whole number"),
    ({"depth": "z"}, ValueError, "depth must be"),
    ({"backend": "metal"}, ValueError, "backend must be"),
    ({"covariances": torch.zeros(12, 6)}, ValueError, "covariances replace quats and scales"),
    ({"means": torch.zeros(12, 3, device="meta")}, ValueError, "means is on meta; stipple works on cpu and cuda"),
])
def test_errors_name_wrong_arguments(change, error, message):
    arguments = dict(zip(NAMES, [t.detach() for t in inputs(12, 1, torch.float32)]), width=24, height=20)
    arguments.update(change)
    with pytest.raises(error, match=message):
        st.rasterize(**arguments)


def test_several_threads(device):
    leaves = inputs(2000, 2, torch.float32, size=(96, 80), device=device)
    expected = draw(leaves, (96, 80))
    weighted_sum(expected).backward()
    wrong = []

    def work():
        mine = [t.detach().clone().requires_grad_() for t in leaves]
        for _ in range(5):
            for t in mine:
                t.grad = None
            result = draw(mine, (96, 80))
            weighted_sum(result).backward()
            try:
                assert torch.equal(result.color, expected.color)
                assert_same(mine[0].grad, leaves[0].grad)
            except AssertionError as e:
                wrong.append(e)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_current_stream_is_respected():
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    leaves = inputs(500, 1, torch.float32, device="cuda")
    expected = draw(leaves).color.detach()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # delays the work queued before
        shifted = leaves[0].detach() * 1.0
        # Cameras are on the host, since reading them from the GPU would wait for the stream.
        rest = [t.detach() for t in leaves[1:5]] + [t.detach().cpu() for t in leaves[5:]]
        result = draw([shifted, *rest]).color * 2
    stream.synchronize()
    assert torch.allclose(result, 2 * expected, atol=1e-5)
