// SPDX-License-Identifier: Apache-2.0
// Makes camera paths from key frames, plays them, and writes them for `stipple render --path`.
import { add, forward, poseOf, scale } from "../camera_math";
import { focusDepth } from "../camera_moves";
import { kLeastStep, Flight, parsePath, pathText, type CameraPath, type KeyFrame } from "../camera_path";
import { button, download, el, svg } from "../dom";
import type { Camera } from "../protocol";
import type { Stage } from "../stage";
import { fovOf } from "../viewpoint";
import { checkbox, numberField, rounded } from "./fields";
import { Overlay, type Tool } from "./tool";

const kUsualStep = 2; // seconds between key frames
const kDrawnPerSegment = 24; // lines of the path over the picture

export class PathTool implements Tool {
  readonly name = "Path";
  readonly element: HTMLElement;

  private path: CameraPath = { fps: 30, closed: false, duration: null, keyframes: [] };
  private readonly overlay: Overlay;
  private readonly line = svg("path", { class: "line" });
  private readonly dots = svg("g", {});
  private readonly list = el("ol", { class: "keyframes", "aria-label": "Key frames" });
  private readonly summary = el("p", { class: "hint", role: "status" });
  private readonly loop = checkbox("Back to the first key frame", false, (closed) => this.set({ closed, duration: null }));
  private readonly fps = numberField("Frames per second", { min: 1, max: 240 }, 30, (fps) => this.set({ fps }));
  private readonly play = button("Play", "play", () => this.togglePlay(), { text: true });
  private readonly save = button("Save path", null, () => this.export());
  private playing = 0; // an animation frame

  constructor(private readonly stage: Stage, private readonly title: string) {
    this.overlay = new Overlay(stage, () => this.draw());
    this.overlay.element.append(this.line, this.dots);
    const file = el("input", { type: "file", accept: ".json,application/json", hidden: true, "aria-label": "Path file" });
    file.addEventListener("change", () => void this.import(file));
    this.element = el("div", { class: "tool" },
      el("div", { class: "buttons" }, button("Add this view", null, () => this.add()), this.play),
      this.list, this.loop.element, this.fps.element, this.summary,
      el("div", { class: "buttons" }, this.save, button("Open path", null, () => file.click()), file),
      el("p", { class: "hint" }, "The file is what ", el("code", {}, "stipple render --path"), " takes."));
    // Whoever moves the view takes it from the flight.
    for (const type of ["pointerdown", "wheel"]) stage.frame.addEventListener(type, () => this.stop(), { capture: true });
    this.show();
  }

  activate(): void {
    this.overlay.show(true);
  }

  deactivate(): void {
    this.stop();
    this.overlay.show(false);
  }

  private set(change: Partial<CameraPath>): void {
    this.path = { ...this.path, ...change };
    this.show();
  }

  private add(): void {
    const { keyframes } = this.path;
    const last = keyframes[keyframes.length - 1];
    this.set({ keyframes: [...keyframes, { time: last ? last.time + kUsualStep : 0, camera: this.stage.pictureCamera() }] });
  }

  private change(index: number, change: Partial<KeyFrame>): void {
    this.set({ keyframes: this.path.keyframes.map((k, i) => (i === index ? { ...k, ...change } : k)) });
  }

  // Moves a key frame to another time; those behind it keep their distance where it would pass them.
  private setTime(index: number, time: number): void {
    const keyframes = this.path.keyframes.map((k) => ({ ...k }));
    const earliest = index > 0 ? keyframes[index - 1].time + kLeastStep : time;
    const moved = Math.max(time, earliest) - keyframes[index].time;
    const mustShift = index + 1 < keyframes.length && keyframes[index].time + moved > keyframes[index + 1].time - kLeastStep;
    keyframes.forEach((k, i) => {
      if (i === index || (i > index && mustShift)) k.time += moved;
    });
    this.set({ keyframes });
  }

  // The views change places; the times stay.
  private swap(a: number, b: number): void {
    const { keyframes } = this.path;
    if (b < 0 || b >= keyframes.length) return;
    this.set({
      keyframes: keyframes.map((k, i) => ({ ...k, camera: keyframes[i === a ? b : i === b ? a : i].camera })),
    });
  }

  private look(camera: Camera): void {
    const { viewpoint } = this.stage;
    const pose = poseOf(camera);
    const distance = Math.max(1e-6, focusDepth(viewpoint.pose, viewpoint.focus));
    viewpoint.setFov(fovOf(camera));
    viewpoint.move(pose, add(pose.position, scale(forward(pose), distance)));
  }

  private togglePlay(): void {
    if (this.playing) {
      this.stop();
      return;
    }
    const flight = new Flight(this.path), start = performance.now();
    const frame = (now: number) => {
      const seconds = Math.max(0, now - start) / 1000;
      this.look(flight.at(seconds));
      if (!this.path.closed && seconds >= flight.duration) this.stop();
      else this.playing = requestAnimationFrame(frame);
    };
    this.playing = requestAnimationFrame(frame);
    this.showPlaying();
  }

  private stop(): void {
    cancelAnimationFrame(this.playing);
    this.playing = 0;
    this.showPlaying();
  }

  private showPlaying(): void {
    this.play.lastChild!.textContent = this.playing ? "Stop" : "Play";
    this.overlay.element.style.display = this.playing ? "none" : "";
  }

  private export(): void {
    download(`${this.title.replace(/\.[a-z]+$/i, "")}_path.json`, new Blob([pathText(this.path)], { type: "application/json" }));
  }

  private async import(input: HTMLInputElement): Promise<void> {
    const file = input.files?.[0];
    input.value = "";
    if (!file) return;
    try {
      this.set(parsePath(await file.text()));
    } catch (error) {
      this.summary.textContent = `${file.name} cannot be used: ${(error as Error).message}.`;
    }
  }

  private show(): void {
    this.stop();
    const { keyframes, closed, fps } = this.path;
    const count = keyframes.length;
    this.loop.input.checked = closed;
    this.fps.set(fps);
    this.play.disabled = count < 2;
    this.save.disabled = count === 0;
    this.list.replaceChildren(...keyframes.map((keyframe, i) => this.row(keyframe, i)));
    const seconds = count > 0 ? new Flight(this.path).duration : 0;
    this.summary.textContent =
      count === 0 ? "Look at something, and add the view as a key frame."
      : `${count} key frame${count > 1 ? "s" : ""}, ${rounded(seconds)} s, ${Math.round(seconds * fps) + (closed ? 0 : 1)} frames.`;
    this.overlay.update();
  }

  private row(keyframe: KeyFrame, i: number): HTMLElement {
    const time = numberField(`Time of key frame ${i + 1}`, { short: "s" }, keyframe.time, (v) => this.setTime(i, v));
    const act = (name: string, text: string, run: () => void, disabled = false) =>
      el("button", { type: "button", title: name, "aria-label": `${name} ${i + 1}`, disabled, onclick: run }, text);
    return el("li", {},
      time.element,
      act("Go to key frame", "Go", () => this.look(keyframe.camera)),
      act("Set to this view: key frame", "Set", () => this.change(i, { camera: this.stage.pictureCamera() })),
      act("Move up key frame", "↑", () => this.swap(i, i - 1), i === 0),
      act("Move down key frame", "↓", () => this.swap(i, i + 1), i === this.path.keyframes.length - 1),
      act("Delete key frame", "×", () => this.set({ keyframes: this.path.keyframes.filter((_, k) => k !== i) })));
  }

  private draw(): void {
    const { keyframes } = this.path;
    this.line.setAttribute("d", this.lineData());
    this.dots.replaceChildren(
      ...keyframes.flatMap((keyframe, i) => {
        const at = this.overlay.place(poseOf(keyframe.camera).position);
        if (!at) return [];
        const place = `translate(${at[0].toFixed(1)} ${at[1].toFixed(1)})`;
        return [svg("g", { transform: place }, svg("circle", { class: "dot", r: 8 }), svg("text", { class: "dot-name", y: 4 }, String(i + 1)))];
      }));
  }

  private lineData(): string {
    if (this.path.keyframes.length < 2) return "";
    const flight = new Flight(this.path), count = kDrawnPerSegment * this.path.keyframes.length;
    const points = Array.from({ length: count + 1 }, (_, i) => poseOf(flight.at((flight.duration * i) / count * (1 - 1e-9))).position);
    return points.slice(1).map((point, i) => this.overlay.line(points[i], point)).join("");
  }
}
