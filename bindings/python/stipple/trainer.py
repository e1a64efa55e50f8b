# SPDX-License-Identifier: Apache-2.0
"""Training."""
from __future__ import annotations

from os import PathLike, fspath
from typing import Any, Callable, List, NamedTuple, Optional, Union

from . import _stipple
from .gaussians import Gaussians, Path, check_gaussians
from .scene import Scene, load_scene

StepReport = _stipple.StepReport


def _report_text(r: StepReport) -> str:
    more = ", skipped" if r.was_skipped else ""
    if r.guard is not None:
        more += f", guard: {r.guard.kind}"
    return f"StepReport(step={r.step}, loss={r.loss:.6g}, psnr={r.psnr:.4g}, {r.gaussian_count} Gaussians{more})"


setattr(StepReport, "__repr__", _report_text)


class Evaluation(NamedTuple):
    """The mean PSNR in dB and SSIM over all views, and (name, psnr, ssim) of each view."""

    psnr: float
    ssim: float
    views: List[tuple]

    def __repr__(self) -> str:
        return f"Evaluation(psnr={self.psnr:.4f}, ssim={self.ssim:.5f}, {len(self.views)} views)"


class Trainer:
    """Trains a model exactly as `stipple train` does. The same seed gives the same bits on the CPU, and on a GPU with
    deterministic=True.

    Options are the command's flags with _ for -, such as steps=7000, strategy="mcmc", eval=True, backend="cpu". Flags
    that end or save a run are not accepted: use a callback or save(). `start` is a model in the frame of the scene to
    start from instead of its points: Gaussians, or the path of a file of any format. The options of load_scene are
    accepted only if `scene` is a path.
    """

    def __init__(
        self, scene: Union[Scene, Path], start: Union[Gaussians, Path, None] = None, **options: Any
    ) -> None:
        if isinstance(scene, Scene):
            for name in _stipple.SCENE_OPTIONS:
                if name in options:
                    raise TypeError(f"{name} is an option of load_scene, and this scene is already loaded")
            self.scene = scene
        else:
            names = [*_stipple.SCENE_OPTIONS, "seed"]
            self.scene = load_scene(scene, **{name: options.pop(name) for name in names if name in options})
        # With the options of the scene, since a photo that is blended over white needs a white background.
        given = {**self.scene._options, **options}
        if start is None or isinstance(start, (str, PathLike)):
            if start is not None:
                given["start"] = fspath(start)
            self._inner = _stipple.Trainer(self.scene._inner, given)
            return
        where, held = check_gaussians(start, "start")._on_host()
        self._inner = _stipple.Trainer(self.scene._inner, given, where)
        del held

    def __repr__(self) -> str:
        return f"Trainer(step {self.steps_done} of {self.last_step}, {self.backend})"

    def step(self) -> "_stipple.StepReport":
        """Runs one step and returns its loss, psnr, gaussian_count and the milliseconds of each stage."""
        return self._inner.step()

    def run(
        self,
        steps: Optional[int] = None,
        callback: Optional[Callable[["_stipple.StepReport"], Optional[bool]]] = None,
    ) -> None:
        """Runs that number of steps, or all that remain. callback(report) is called after each step and ends the run by
        returning False. Ctrl-C interrupts between two steps; training can be resumed afterwards."""
        if steps is not None and steps < 0:
            raise ValueError(f"steps must be at least 0, not {steps}")
        taken = 0
        while not self.done and (steps is None or taken < steps):
            report = self._inner.step()
            taken += 1
            goes_on = None if callback is None else callback(report)
            if goes_on is not None and not goes_on:
                return

    @property
    def steps_done(self) -> int:
        """The number of steps done so far."""
        return self._inner.steps_done()

    @property
    def last_step(self) -> int:
        """The step at which training ends. It becomes smaller if the guard ends the run early."""
        return self._inner.last_step()

    @property
    def done(self) -> bool:
        """Whether the last step has been reached."""
        return self._inner.done()

    @property
    def watched_views(self) -> List[int]:
        """Indices into scene.views of the views that the guard watches instead of training on them."""
        return self._inner.watched_views()

    @property
    def dropped_count(self) -> int:
        """How many Gaussians of `start` or of a restored checkpoint were dropped: the least important, if there are
        more than max_gaussians, and those of `start` with values that are not finite."""
        return self._inner.dropped_count()

    @property
    def backend(self) -> str:
        """The name of the backend."""
        return self._inner.backend()

    def gaussians(self) -> Gaussians:
        """The current model."""
        return Gaussians(*self._inner.gaussians())

    def evaluate(self) -> Evaluation:
        """Evaluates the held-out views (with eval=True) or otherwise the training views."""
        return Evaluation(*self._inner.evaluate())

    def save(self, path: Path) -> None:
        """Writes a checkpoint with the full training state."""
        self._inner.save(path)

    def restore(self, path: Path) -> None:
        """Restores a checkpoint of the same scene, start and options. Training then continues as if it had never
        stopped (to the same bits, where runs are deterministic)."""
        self._inner.restore(path)
