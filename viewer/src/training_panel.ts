// SPDX-License-Identifier: Apache-2.0
// The progress of a training, its plots, and its commands.
import type { Connection } from "./connection";
import { button, el, icon } from "./dom";
import { duration, grouped, known, short } from "./format";
import { append } from "./history";
import type { Keys } from "./keys";
import { Plot } from "./plot";
import type { EvaluationPoint, History, Status, TrainingPoint, TrainingState } from "./protocol";

const kStateNames: Record<TrainingState, string> = {
  training: "Training", paused: "Paused", saving: "Saving", evaluating: "Evaluating", finished: "Finished",
};

export class TrainingPanel {
  private readonly state = el("output", { id: "training-state", "aria-label": "State", class: "state" }, "–");
  private readonly step = el("output", { id: "step", "aria-label": "Step" }, "0");
  private readonly lastStep = el("span", {});
  private readonly progress = el("progress", { max: 1, value: 0, "aria-label": "Progress" });
  private readonly values = new Map<string, HTMLElement>();
  private readonly pauseButton: HTMLButtonElement;
  private readonly saveButton: HTMLButtonElement;
  private readonly stopButton: HTMLButtonElement;
  private readonly plots = {
    psnr: new Plot({ name: "PSNR", format: (v) => `${v.toFixed(2)} dB`, axisFormat: (v) => String(v) }),
    loss: new Plot({ name: "Loss", format: (v) => v.toPrecision(3), axisFormat: (v) => String(v), isLogarithmic: true }),
    gaussians: new Plot({ name: "Gaussians", format: grouped, axisFormat: short }),
  };
  private readonly training: TrainingPoint[] = [];
  private readonly evaluations: EvaluationPoint[] = [];
  private status: Status | null = null;

  constructor(place: HTMLElement, connection: Connection, keys: Keys) {
    const command = (name: "save" | "stop") => () => connection.send({ type: "command", name });
    const togglePause = () => {
      if (!this.pauseButton.disabled) connection.send({ type: "command", name: this.isPaused ? "resume" : "pause" });
    };
    this.pauseButton = button("Pause", "pause", togglePause, { text: true });
    this.saveButton = button("Save", "save", command("save"), { text: true });
    const dialog = this.stopDialog(command("stop"));
    this.stopButton = button("Stop", "stop", () => dialog.showModal(), { text: true, class: "danger" });
    keys.add({ keys: [" "], group: "Training", text: "Pause or resume", run: togglePause });

    const values = el("dl", { class: "values" });
    for (const name of ["Speed", "Time left", "Gaussians", "PSNR", "Loss", "Watching"]) {
      const value = el("output", { "aria-label": name }, "–");
      this.values.set(name, value);
      values.append(el("div", {}, el("dt", {}, name), el("dd", {}, value)));
    }
    this.values.get("Watching")!.title = "The share of the time that is spent on pictures for visitors";
    place.append(
      el("div", { class: "steps" }, this.state, el("span", { class: "count" }, this.step, this.lastStep)),
      this.progress,
      el("div", { class: "buttons" }, this.pauseButton, this.saveButton, this.stopButton),
      values,
      this.plots.psnr.element, this.plots.loss.element, this.plots.gaussians.element,
      el("p", { class: "hint" }, "PSNR and loss are of the photos in training; dots are evaluations of held-out photos."),
      dialog);
    connection.on("hello", () => { // after the connection was lost; all points follow
      this.training.length = this.evaluations.length = 0;
    });
    connection.on("status", (status) => this.setStatus(status));
    connection.on("history", (history) => this.addHistory(history));
  }

  get lastKnownStep(): number | null {
    return this.status?.step ?? null;
  }

  private get isPaused(): boolean {
    return this.status?.state === "paused";
  }

  private setStatus(s: Status): void {
    const isLonger = this.status?.last_step !== s.last_step;
    this.status = s;
    this.state.textContent = kStateNames[s.state];
    this.state.dataset.state = s.state;
    this.step.textContent = grouped(s.step);
    this.lastStep.textContent = ` of ${grouped(s.last_step)}`;
    this.progress.max = Math.max(1, s.last_step);
    this.progress.value = s.step;
    const show = (name: string, text: string) => (this.values.get(name)!.textContent = text);
    show("Speed", known(s.steps_per_second, (v) => `${v < 10 ? v.toFixed(2) : v.toFixed(1)} steps/s`));
    show("Time left", known(s.seconds_left, duration));
    show("Gaussians", grouped(s.gaussians));
    show("PSNR", known(s.psnr, (v) => `${v.toFixed(2)} dB`));
    show("Loss", known(s.loss, (v) => v.toPrecision(3)));
    show("Watching", `${(100 * s.watch_share).toFixed(1)} %`);
    const name = this.isPaused ? "Resume" : "Pause";
    if (this.pauseButton.textContent !== name) {
      this.pauseButton.replaceChildren(icon(this.isPaused ? "play" : "pause"), name);
    }
    for (const b of [this.pauseButton, this.saveButton, this.stopButton]) b.disabled = s.state === "finished";
    if (isLonger) this.plot();
  }

  private addHistory(history: History): void {
    append(this.training, history.training);
    append(this.evaluations, history.evaluations);
    this.plot();
  }

  private plot(): void {
    const last = this.status?.last_step ?? 0;
    this.plots.psnr.set(
      this.training.map((p) => [p.step, p.psnr]), this.evaluations.map((p) => [p.step, p.psnr]), last);
    this.plots.loss.set(this.training.map((p) => [p.step, p.loss]), [], last);
    this.plots.gaussians.set(this.training.map((p) => [p.step, p.gaussians]), [], last);
  }

  private stopDialog(stop: () => void): HTMLDialogElement {
    const dialog = el("dialog", { "aria-labelledby": "stop-title" },
      el("h2", { id: "stop-title" }, "Stop training?"),
      el("p", {}, "The model is saved as it is now. The run can be resumed later."),
      el("form", { method: "dialog", class: "buttons end" },
        el("button", { value: "keep" }, "Keep training"),
        el("button", { value: "stop", class: "danger filled" }, "Stop and save")));
    dialog.addEventListener("close", () => {
      if (dialog.returnValue === "stop") stop();
      dialog.returnValue = "";
    });
    return dialog;
  }
}
