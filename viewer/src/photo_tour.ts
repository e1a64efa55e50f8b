// SPDX-License-Identifier: Apache-2.0
// The scene's photos: looking through their cameras one after the other, and comparing the picture with the photo.
import { add, dot, forward, length, poseOf, scale, sub } from "./camera_math";
import { choice } from "./choice";
import { addressOf, type Connection } from "./connection";
import { button, el } from "./dom";
import { drawErrorMap } from "./error_map";
import { known } from "./format";
import type { Keys } from "./keys";
import type { Score, ViewInfo } from "./protocol";
import type { Stage } from "./stage";
import { Wipe } from "./wipe";

const kModes = ["Model", "Photo", "Wipe", "Blink", "Error"] as const;
type CompareMode = (typeof kModes)[number];
const kBlinkMs = 700;
const kScoreAgainMs = 5000;

export class PhotoTour {
  // One per column of the picture.
  private readonly photos: HTMLImageElement[];
  private readonly errors: HTMLCanvasElement[];
  private readonly photoLayer: HTMLElement;
  private readonly errorLayer: HTMLElement;
  private readonly legend = el("span", { class: "error-legend", hidden: true }, "0", el("span", {}), "¼");
  private readonly wipe: Wipe;
  private readonly bar = el("div", { class: "bar", role: "group", "aria-label": "Photo", hidden: true });
  private readonly name = el("span", { class: "photo-name" });
  private readonly kind = el("span", { class: "badge" });
  private readonly score = el("output", { "aria-label": "Score", class: "score" });
  private readonly modes;
  private readonly listeners: ((index: number) => void)[] = [];
  private mode: CompareMode = "Model";
  private index = -1; // of the photo whose camera is looked through, or -1
  private wanted = -1; // the photo that is flown to, too
  private blinking = 0;
  private scoredStep: number | null = null;
  private lastAsked = -Infinity;

  constructor(
    private readonly stage: Stage, private readonly views: ViewInfo[], private readonly connection: Connection | null,
    private readonly modelNames: string[], private readonly pictures: () => Promise<(ImageBitmap | HTMLCanvasElement)[]>,
    private readonly stepNow: () => number | null, keys: Keys,
  ) {
    this.photos = modelNames.map(() => el("img", { alt: "" }));
    this.errors = modelNames.map(() => el("canvas"));
    this.photoLayer = el("div", { class: "layer columns", hidden: true }, ...this.photos);
    this.errorLayer = el("div", { class: "layer columns", hidden: true }, ...this.errors);
    for (const photo of this.photos) {
      photo.onload = () => this.update();
      photo.onerror = () => (this.score.textContent = "The photo cannot be loaded.");
    }
    // Two models have a line of their own.
    const modes = kModes.filter((mode) => mode !== "Wipe" || modelNames.length === 1);
    this.wipe = new Wipe("Photo from here on", () => this.applyWipe());
    this.modes = choice<CompareMode>("Compare with the photo", modes, this.mode, (mode) => this.setMode(mode));
    this.bar.append(
      button("Previous photo", "left", () => this.step(-1)), button("Next photo", "right", () => this.step(1)),
      this.name, this.kind, this.score, this.modes.element, this.legend,
      button("Leave the photo", "close", () => this.leave()));
    stage.frame.append(this.photoLayer, this.errorLayer, this.wipe.element);
    stage.element.append(this.bar);
    stage.viewpoint.onChange((viewpoint) => {
      if (!viewpoint.through && !viewpoint.isFlying) this.wanted = -1;
      this.follow(viewpoint.through?.index ?? -1);
      if (this.wanted < 0) this.bar.hidden = true;
    });
    stage.onSettled(() => this.update());
    connection?.on("score", (score) => this.showScore(score));
    connection?.on("status", () => this.askScore());

    keys.add({ keys: ["]", "."], group: "Photos", text: "Next photo", run: () => this.step(1) });
    keys.add({ keys: ["[", ","], group: "Photos", text: "Previous photo", run: () => this.step(-1) });
    modes.forEach((mode, i) => keys.add({
      keys: [String(i + 1)], group: "Photos", text: i === 0 ? "The model alone" : `Compare: ${mode.toLowerCase()}`,
      run: () => this.index >= 0 && this.modes.set(mode),
    }));
    keys.add({ keys: ["escape"], group: "Photos", text: "Leave the photo", run: () => this.leave() });
  }

  // Calls back with the photo whose camera is looked through, or -1.
  onChange(listener: (index: number) => void): void {
    this.listeners.push(listener);
  }

  // Flies to the camera of a photo, and looks through it.
  look(index: number): void {
    const { viewpoint } = this.stage;
    const camera = this.views[index].camera;
    const pose = poseOf(camera);
    // Turn about what is in the middle, as far away as what one turned about until now.
    const ahead = dot(sub(viewpoint.focus, pose.position), forward(pose));
    const distance = ahead > 0 ? ahead : length(sub(viewpoint.focus, pose.position));
    viewpoint.flyThrough(
      index, camera, add(pose.position, scale(forward(pose), distance)), this.stage.fovLike(camera));
    this.wanted = index;
    this.describe(this.views[index]);
  }

  step(by: number): void {
    const n = this.views.length;
    this.look(this.wanted < 0 ? 0 : (this.wanted + by + n) % n);
  }

  leave(): void {
    this.stage.viewpoint.leave();
  }

  private describe(view: ViewInfo): void {
    this.bar.hidden = false;
    this.name.textContent = view.name;
    this.kind.textContent = view.is_test ? "held out" : "training";
    this.kind.classList.toggle("test", view.is_test);
    this.score.textContent = "";
    this.scoredStep = null;
    this.lastAsked = -Infinity;
  }

  private follow(index: number): void {
    if (index === this.index) return;
    this.index = index;
    if (index >= 0) {
      const view = this.views[index];
      // At the size of the picture, so that neither is magnified in the error map.
      const picture = this.stage.pictureCamera();
      const address = addressOf(view.photo, { size: String(Math.max(picture.width, picture.height)) });
      for (const photo of this.photos) {
        photo.alt = `The photo ${view.name}`;
        photo.src = address;
      }
      this.askScore();
    }
    this.update();
    for (const listener of this.listeners) listener(index);
  }

  // Until then, the one before is in its place.
  private get isLoaded(): boolean {
    return this.photos[0].complete && this.photos[0].naturalWidth > 0;
  }

  private setMode(mode: CompareMode): void {
    this.mode = mode;
    this.update();
  }

  private update(): void {
    const mode = this.index < 0 ? "Model" : this.mode;
    this.photoLayer.hidden = !["Photo", "Wipe", "Blink"].includes(mode) || !this.isLoaded;
    this.legend.hidden = mode !== "Error";
    this.photos.forEach((photo, i) => (photo.hidden = i >= this.stage.columns));
    this.wipe.element.hidden = mode !== "Wipe";
    this.applyWipe();
    this.setBlinking(mode === "Blink");
    if (mode === "Error") void this.updateErrors();
    else this.errorLayer.hidden = true;
  }

  private setBlinking(isBlinking: boolean): void {
    if (isBlinking === (this.blinking !== 0)) return; // pictures that come meanwhile do not disturb the rhythm
    clearInterval(this.blinking);
    const { style } = this.photoLayer;
    style.visibility = "";
    this.blinking = !isBlinking ? 0 : window.setInterval(() => {
      style.visibility = style.visibility === "hidden" ? "" : "hidden";
    }, kBlinkMs);
  }

  private applyWipe(): void {
    this.photoLayer.style.clipPath = this.mode === "Wipe" ? `inset(0 0 0 ${100 * this.wipe.position}%)` : "";
  }

  private async updateErrors(): Promise<void> {
    const index = this.index;
    if (!this.stage.isSettled || !this.isLoaded) return;
    const pictures = await this.pictures();
    if (index === this.index && this.mode === "Error") {
      this.errors.forEach((canvas, i) => {
        canvas.hidden = i >= pictures.length;
        if (i < pictures.length) drawErrorMap(canvas, pictures[i], this.photos[0]);
      });
      this.errorLayer.hidden = false;
    }
    for (const picture of pictures) if (picture instanceof ImageBitmap) picture.close();
  }

  // Asks again in training, but not all the time, since it costs the training time.
  private askScore(): void {
    const step = this.stepNow();
    if (!this.connection || this.index < 0 || performance.now() - this.lastAsked < kScoreAgainMs) return;
    if (Number.isFinite(this.lastAsked) && step === this.scoredStep) return;
    this.lastAsked = performance.now();
    this.connection.send({ type: "score", view: this.index });
  }

  private showScore(score: Score): void {
    if (score.view !== this.index) return;
    this.scoredStep = score.step;
    if (score.psnr === null && score.ssim === null) return;
    const text = `PSNR ${known(score.psnr, (v) => v.toFixed(2))} dB · SSIM ${known(score.ssim, (v) => v.toFixed(3))}`;
    if (this.modelNames.length === 1) {
      this.score.textContent = text;
      return;
    }
    const line = el("span", { "data-model": score.model }, `${this.modelNames[score.model]}: ${text}`);
    const old = this.score.querySelector(`[data-model="${score.model}"]`);
    if (old) old.replaceWith(line);
    else this.score.append(line);
  }
}
