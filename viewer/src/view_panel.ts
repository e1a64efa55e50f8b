// SPDX-License-Identifier: Apache-2.0
// How the model is drawn: what is shown, the lens, the background, harmonics and the size of splats; and pictures to take away.
import { choice } from "./choice";
import type { ControlMode, Controls } from "./controls";
import { button, download, el } from "./dom";
import type { Keys } from "./keys";
import type { Appearance } from "./picture";
import type { Shown, Vec3 } from "./protocol";
import type { Stage } from "./stage";

const kShown: Record<string, Shown> = { Colour: "color", Depth: "depth", Alpha: "alpha", Gaussians: "gaussians" };
const kMoves: Record<string, ControlMode> = { Orbit: "orbit", Fly: "fly", Walk: "walk" };
const kShownKeys = ["z", "x", "v", "b"];

export function fillViewPanel(
  place: HTMLElement, stage: Stage, maxDegree: number, title: string, capture: () => Promise<HTMLCanvasElement>,
  controls: Controls, keys: Keys,
): void {
  const start: Appearance = { ...stage.appearance };
  const startFov = stage.viewpoint.fovDegrees;

  const shown = choice("Show", Object.keys(kShown), "Colour", (name) => stage.setAppearance({ shown: kShown[name] }));
  const fov = slider("Field of view", 10, 110, 1, startFov, (v) => `${Math.round(v)}°`, (v) => stage.viewpoint.setFov(v));
  stage.viewpoint.onChange((viewpoint) => fov.show(viewpoint.fovDegrees));
  const size = slider(
    "Splat scale", 0.05, 2, 0.05, 1, (v) => v.toFixed(2), (v) => stage.setAppearance({ scaleModifier: v }));
  const degrees = Array.from({ length: maxDegree + 1 }, (_, i) => String(i));
  const degree = choice("SH degree", degrees, String(start.shDegree), (v) => stage.setAppearance({ shDegree: Number(v) }));
  const background = el("input", { type: "color", value: hexOf(start.background) });
  background.addEventListener("input", () => stage.setAppearance({ background: colorOf(background.value) }));

  const moves = choice("Move", Object.keys(kMoves), "Orbit", (name) => (controls.mode = kMoves[name]));
  // Doublings, so that slow and fast have the same room.
  const speed = slider(
    "Speed", -4, 4, 0.5, 0, (v) => `${Number((2 ** v).toPrecision(2))}×`, (v) => (controls.speed = 2 ** v));

  const reset = () => {
    stage.setAppearance(start);
    shown.set("Colour");
    degree.set(String(start.shDegree));
    size.set(1);
    fov.set(startFov);
    background.value = hexOf(start.background);
  };
  const screenshot = async () => {
    const canvas = await capture();
    canvas.toBlob((png) => png && download(`${title}.png`, png));
  };
  const saveCamera = () =>
    download("camera.json", new Blob([JSON.stringify(stage.pictureCamera(), null, 1) + "\n"], { type: "application/json" }));

  place.append(
    field("Show", shown.element),
    fov.element, size.element,
    ...(maxDegree > 0 ? [field("SH degree", degree.element)] : []),
    el("label", { class: "row" }, el("span", {}, "Background"), background),
    el("div", { class: "buttons" }, button("Reset", null, reset)),
    el("h2", {}, "Move"),
    moves.element, speed.element,
    el("h2", {}, "Take away"),
    el("div", { class: "buttons" },
      button("Screenshot", "photo", () => void screenshot(), { text: true }),
      button("Save camera", "camera", saveCamera, { text: true })),
    el("p", { class: "hint" }, "The camera file is what ", el("code", {}, "stipple render --camera"), " takes."));

  Object.keys(kShown).forEach((name, i) => keys.add({
    keys: [kShownKeys[i]], group: "View", text: `Show: ${name}`,
    run: () => shown.set(name),
  }));
  const nextMove = () => {
    const names = Object.keys(kMoves);
    moves.set(names[(names.findIndex((name) => kMoves[name] === controls.mode) + 1) % names.length]);
  };
  keys.add({ keys: ["m"], group: "Move", text: "Orbit, fly or walk", run: nextMove });
  keys.add({ keys: ["k"], group: "View", text: "Take a screenshot", run: () => void screenshot() });
}

function field(name: string, content: HTMLElement): HTMLElement {
  return el("div", { class: "field" }, el("span", { class: "label" }, name), content);
}

function slider(
  name: string, min: number, max: number, step: number, value: number, text: (value: number) => string,
  changed: (value: number) => void,
) {
  const input = el("input", { type: "range", min, max, step, value, "aria-label": name });
  const output = el("span", { class: "number" }, text(value));
  const show = (v: number) => {
    input.value = String(v);
    output.textContent = text(v);
  };
  const set = (v: number) => {
    show(v);
    changed(v);
  };
  input.addEventListener("input", () => set(Number(input.value)));
  return { element: el("label", { class: "field" }, el("span", { class: "label" }, name, output), input), show, set };
}

const hexOf = (color: Vec3): string => "#" + color.map((v) => Math.round(255 * v).toString(16).padStart(2, "0")).join("");
const colorOf = (hex: string): Vec3 => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16) / 255) as Vec3;
