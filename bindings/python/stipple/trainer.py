# SPDX-License-Identifier: Apache-2.0
"""From photographs to Gaussians."""
from __future__ import annotations

from typing import Any, Callable, List, NamedTuple, Optional, Union

from . import _stipple
from .gaussians import Gaussians, Path
from .scene import Scene, load_scene

StepReport = _stipple.StepReport


class Evaluation(NamedTuple):
    """Means over views, and each view's (name, psnr, ssim)."""

    psnr: float
    ssim: float
    views: List[tuple]


class Trainer:
    """Trains a model, one view a step, exactly as `stipple train` does: the same seed gives the same bits.

    Options are the command's flags with _ for -, such as steps=7000, strategy="mcmc", eval=True, backend="cpu". Those
    that end or save a run are not among them: a callback does the one, save() the other. Those of photos are
    load_scene's, and are taken here only with a path.
    """

    def __init__(self, scene: Union[Scene, Path], **options: Any) -> None:
        if isinstance(scene, Scene):
            for name in _stipple.SCENE_OPTIONS:
                if name in options:
                    raise TypeError(f"{name} is an option of load_scene, and this scene is already loaded")
            self.scene = scene
        else:
            names = [*_stipple.SCENE_OPTIONS, "seed"]
            self.scene = load_scene(scene, **{name: options.pop(name) for name in names if name in options})
        # With the options of the scene, since a photo that is blended over white needs a white background.
        self._inner = _stipple.Trainer(self.scene._inner, {**self.scene._options, **options})

    def step(self) -> "_stipple.StepReport":
        """One step: its loss, psnr, gaussian_count and milliseconds by stage."""
        return self._inner.step()

    def run(
        self,
        steps: Optional[int] = None,
        callback: Optional[Callable[["_stipple.StepReport"], Optional[bool]]] = None,
    ) -> None:
        """So many steps, or all that are left. callback(report) is called after each, and ends the run by returning
        False. Ctrl-C ends it between two steps; the trainer can go on afterwards."""
        if steps is not None and steps < 0:
            raise ValueError(f"steps must not be negative, not {steps}")
        left = self.last_step - self.steps_done
        for _ in range(left if steps is None else min(steps, left)):
            report = self._inner.step()
            goes_on = None if callback is None else callback(report)
            if goes_on is not None and not goes_on:
                return

    @property
    def steps_done(self) -> int:
        """So far."""
        return self._inner.steps_done()

    @property
    def last_step(self) -> int:
        """Where training ends."""
        return self._inner.last_step()

    @property
    def done(self) -> bool:
        """Whether that has been reached."""
        return self._inner.done()

    @property
    def backend(self) -> str:
        """What it runs on."""
        return self._inner.backend()

    def gaussians(self) -> Gaussians:
        """The model as it is now."""
        return Gaussians(*self._inner.gaussians())

    def evaluate(self) -> Evaluation:
        """Scores of the held-out views (with eval=True), or else of the training views."""
        return Evaluation(*self._inner.evaluate())

    def save(self, path: Path) -> None:
        """A checkpoint, with everything that the steps to come depend on."""
        self._inner.save(path)

    def restore(self, path: Path) -> None:
        """Goes on from a checkpoint of the same scene and options, with the same bits."""
        self._inner.restore(path)
