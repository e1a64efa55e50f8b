# SPDX-License-Identifier: Apache-2.0
"""Training from Python."""
from __future__ import annotations

import json
import shutil
import signal
import threading

import numpy as np
import pytest
from small_scene import FOCAL, small_model, write_scene

import stipple


@pytest.fixture(name="scene", scope="module")
def make_scene(tmp_path_factory):
    """A scene with twelve views."""
    folder = tmp_path_factory.mktemp("trainer") / "scene"
    write_scene(small_model(), folder)
    return stipple.load_scene(folder)


def test_load_scene(scene):
    assert len(scene.views) == 12 and len(scene.test_views) == 2 and len(scene.train_views) == 10
    view = scene.views[3]
    assert view.photo().shape == (40, 48, 3) and view.photo().dtype == np.uint8 and view.weight() is None
    assert view.camera.fx == pytest.approx(FOCAL) and len(scene.points.position) == 300
    rendered = stipple.render(small_model(), view.camera).color
    assert np.abs(rendered.clip(0, 1) - view.photo() / 255).max() < 2 / 255  # the camera is the one that rendered it


def test_load_scene_adds_random_points_if_there_are_none(scene, tmp_path):
    shutil.copytree(scene.path, tmp_path / "scene")
    path = tmp_path / "scene" / "transforms.json"
    described = json.loads(path.read_text())
    del described["ply_file_path"]
    path.write_text(json.dumps(described))
    found = stipple.load_scene(tmp_path / "scene", random_points=500)
    assert found.has_random_points and len(found.points.position) == 500 and not scene.has_random_points
    seeded = stipple.load_scene(tmp_path / "scene", random_points=500, seed=7)
    assert not np.array_equal(seeded.points.position, found.points.position)
    of_trainer = stipple.Trainer(tmp_path / "scene", random_points=500, seed=7, steps=3, backend="cpu").scene
    assert np.array_equal(of_trainer.points.position, seeded.points.position)


def test_photos_over_white_are_trained_over_white(scene):
    def first_loss(of, **options):
        return stipple.Trainer(of, steps=3, backend="cpu", **options).step().loss

    white = first_loss(scene.path, alpha="white")
    assert white == first_loss(scene.path, alpha="white", background=(1, 1, 1))
    assert white != first_loss(scene.path)
    assert white == first_loss(stipple.load_scene(scene.path, alpha="white"))  # of a scene that is already loaded


def test_objects_are_recognised_and_trained_over_random_backgrounds(scene, tmp_path):
    shutil.copytree(scene.path, tmp_path / "scene")
    for view in scene.views:
        color = view.photo() / np.float32(255)
        alpha = np.zeros((*color.shape[:2], 1), np.float32)
        alpha[12:30, 14:34] = 1
        stipple.save_png(np.concatenate([color, alpha], axis=2), tmp_path / "scene" / view.name)
    found = stipple.load_scene(tmp_path / "scene", random_points=500)
    assert found.alpha == "object" and scene.alpha == "auto"
    alpha = found.views[3].alpha()
    assert alpha.shape == (40, 48) and scene.views[3].alpha() is None
    assert (found.views[3].photo()[alpha == 0] == 0).all()

    def first_loss(**options):
        return stipple.Trainer(found, steps=3, backend="cpu", **options).step().loss

    assert first_loss() == first_loss(random_background=True)
    assert first_loss() != first_loss(random_background=False)


def test_options_are_those_of_the_command(scene):
    with pytest.raises(TypeError, match="^stepz is not an option; did you mean steps\\?$"):
        stipple.Trainer(scene, stepz=3)
    with pytest.raises(ValueError, match="^steps must be a whole number"):
        stipple.Trainer(scene, steps="many")
    with pytest.raises(ValueError, match="^ssim_weight must be from 0 to 1"):
        stipple.Trainer(scene, ssim_weight=2)
    with pytest.raises(TypeError, match="time_limit is an option of the command only"):
        stipple.Trainer(scene, time_limit=3)
    with pytest.raises(TypeError, match="resolution is not an option of load_scene"):
        stipple.load_scene(scene.path, resolution=3)
    assert stipple.load_scene(scene.path, max_resolution=24).views[0].camera.width == 24
    assert stipple.Trainer(scene.path, max_resolution=24, steps=3).scene.views[0].camera.width == 24


def test_a_device_is_a_number_or_a_part_of_its_name(scene):
    for device in (0, "0", "cpu"):
        assert stipple.Trainer(scene, steps=3, backend="cpu", device=device).backend == "cpu"
    assert stipple.Trainer(scene, steps=3, device="CPU").backend == "cpu"  # "best" looks for it
    with pytest.raises(stipple.Error, match="^there is no cpu device 1; available are 0: CPU$"):
        stipple.Trainer(scene, steps=3, backend="cpu", device=1)
    with pytest.raises(stipple.Error, match="^there is no cpu device with 'abacus' in its name"):
        stipple.render(small_model(), scene.views[0].camera, backend="cpu:abacus")


def test_training_learns_and_a_checkpoint_continues_with_the_same_bits(scene, tmp_path):
    losses = []
    options = dict(steps=200, eval=True, backend="cpu", background=(0, 0, 0))
    trainer = stipple.Trainer(scene, **options)
    trainer.run(100, callback=lambda report: losses.append(report.loss))
    assert trainer.steps_done == 100 and not trainer.done and trainer.backend == "cpu"
    before = trainer.evaluate().psnr
    trainer.save(tmp_path / "checkpoint")
    trainer.run()
    assert trainer.done and trainer.steps_done == trainer.last_step == 200
    assert trainer.evaluate().psnr > before + 1
    assert np.mean(losses[-10:]) < 0.8 * np.mean(losses[:10])

    again = stipple.Trainer(scene, **options)
    again.restore(tmp_path / "checkpoint")
    assert again.steps_done == 100
    again.run()
    assert np.array_equal(again.gaussians().sh, trainer.gaussians().sh)
    with pytest.raises(stipple.Error, match="nowhere"):
        again.restore(tmp_path / "nowhere")


def test_a_lower_limit_drops_gaussians_of_a_checkpoint(scene, tmp_path):
    stipple.Trainer(scene, steps=5, backend="cpu").save(tmp_path / "checkpoint")
    smaller = stipple.Trainer(scene, steps=5, backend="cpu", max_gaussians=200)
    smaller.restore(tmp_path / "checkpoint")
    assert smaller.dropped_count == 100 and len(smaller.gaussians().mean) == 200


def test_the_guard_ends_a_run_that_gets_worse(tmp_path):
    """Every other photo belongs to another camera, so that training makes other views worse."""
    write_scene(small_model(), tmp_path / "scene", view_count=32)
    names = [tmp_path / "scene" / f"{i:02}.png" for i in range(1, 32, 2)]
    photos = [name.read_bytes() for name in names]
    for name, photo in zip(names, photos[5:] + photos[:5]):
        name.write_bytes(photo)
    trainer = stipple.Trainer(tmp_path / "scene", steps=3000, grow_gradient=1e-4, backend="cpu")
    assert len(trainer.watched_views) == 3
    events = []
    trainer.run(callback=lambda report: events.append(report.guard) if report.guard else None)
    assert trainer.done and trainer.steps_done == trainer.last_step < 3000
    assert events[-1].kind == "ends early" and events[-1].last_step == trainer.last_step
    assert events[-1].psnr < events[-1].best_psnr and not trainer.watched_views
    with pytest.raises(TypeError, match="eval_every is an option of the command only"):
        stipple.Trainer(tmp_path / "scene", eval_every=10)


def test_callback_can_end_the_run(scene):
    trainer = stipple.Trainer(scene, steps=50, backend="cpu")
    trainer.run(callback=lambda report: np.bool_(report.step < 7))
    assert trainer.steps_done == 7
    assert set(trainer.step().milliseconds) >= {"project", "bin", "blend", "loss"}
    with pytest.raises(ValueError, match="steps must be at least 0"):
        trainer.run(-1)


def test_ctrl_c_interrupts_between_two_steps(scene):
    trainer = stipple.Trainer(scene, steps=100000, backend="cpu")
    threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        trainer.run()
    done = trainer.steps_done
    assert 0 < done < 100000
    assert trainer.step().step == done + 1


def test_a_run_starts_from_gaussians_or_from_a_file(scene, tmp_path):
    options = dict(steps=20, backend="cpu", seed=3)
    model = small_model()
    of_model = stipple.Trainer(scene, start=model, **options)
    assert np.array_equal(of_model.gaussians().mean, model.mean) and of_model.dropped_count == 0
    assert of_model.evaluate().psnr > stipple.Trainer(scene, **options).evaluate().psnr + 3
    stipple.save_model(model, tmp_path / "model.ply")
    of_file = stipple.Trainer(scene.path, start=tmp_path / "model.ply", **options)
    of_model.run()
    of_file.run(10)
    of_file.save(tmp_path / "checkpoint")
    again = stipple.Trainer(scene, start=model, **options)
    again.restore(tmp_path / "checkpoint")
    again.run()
    assert np.array_equal(again.gaussians().sh, of_model.gaussians().sh)
    with pytest.raises(stipple.Error, match="started from a model, but this run starts from the scene's points"):
        stipple.Trainer(scene, **options).restore(tmp_path / "checkpoint")


def test_a_start_that_cannot_be_trained_is_refused(scene, tmp_path):
    with pytest.raises(stipple.Error, match="missing.ply"):
        stipple.Trainer(scene, start=tmp_path / "missing.ply", steps=3, backend="cpu")
    with pytest.raises(TypeError, match="start must be stipple.Gaussians, not int"):
        stipple.Trainer(scene, start=3, steps=3, backend="cpu")
    model = small_model()
    model.mean = np.full_like(model.mean, np.nan)
    with pytest.raises(stipple.Error, match=r"no Gaussian whose values are all finite \(see the option start\)"):
        stipple.Trainer(scene, start=model, steps=3, backend="cpu")
