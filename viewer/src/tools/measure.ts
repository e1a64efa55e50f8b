// SPDX-License-Identifier: Apache-2.0
// Measures the distance between two points on the surface, in units of the scene or after telling how long one is.
import { length, sub } from "../camera_math";
import { button, el, svg } from "../dom";
import type { LocalView } from "../local_view";
import type { Vec3 } from "../protocol";
import type { Stage } from "../stage";
import { numberField, rounded } from "./fields";
import { onTap, Overlay, type Tool } from "./tool";

export class MeasureTool implements Tool {
  readonly name = "Measure";
  readonly element: HTMLElement;

  private points: Vec3[] = [];
  private metresPerUnit = 1;
  private hasScale = false;
  private endTaps = () => {};
  private readonly overlay: Overlay;
  private readonly line = svg("path", { class: "line" });
  private readonly dots: SVGCircleElement[];
  private readonly label = svg("text", { class: "length" });
  private readonly output = el("output", { class: "big", "aria-label": "Distance" });
  private readonly coordinates = el("ol", { class: "coordinates" });
  private readonly hint = el("p", { class: "hint", role: "status" });
  private readonly known = numberField("This is so many metres", { min: 0, short: "metres" }, 1, (v) => this.calibrate(v));

  constructor(private readonly stage: Stage, private readonly local: LocalView) {
    this.overlay = new Overlay(stage, () => this.draw());
    this.dots = [0, 1].map((i) => {
      const dot = svg("circle", { class: "handle", r: 6 });
      this.overlay.draggable(dot, () => (at) => this.put(i, at));
      return dot;
    });
    this.overlay.element.append(this.line, ...this.dots, this.label);
    const middle = () => this.pick([stage.camera().width / 2, stage.camera().height / 2]);
    this.element = el("div", { class: "tool" },
      this.output, this.coordinates, this.hint,
      el("div", { class: "line-of-fields" }, el("span", {}, "This is"), this.known.element),
      el("div", { class: "buttons" },
        button("Point in the middle", null, middle), button("Forget points", null, () => this.clear())));
    this.show();
  }

  activate(): void {
    this.overlay.show(true);
    this.endTaps = onTap(this.stage, (event) => this.pick(this.overlay.at(event)));
  }

  deactivate(): void {
    this.overlay.show(false);
    this.endTaps();
  }

  private clear(): void {
    this.points = [];
    this.show();
  }

  private pick(at: [number, number]): void {
    if (this.points.length === 2) this.points = [];
    this.put(this.points.length, at);
  }

  private put(index: number, [x, y]: [number, number]): void {
    const point = this.local.surfaceAt(this.stage.camera(), x, y);
    if (point) this.points[index] = point;
    this.show(point ? null : "There is no surface here.");
  }

  private get distance(): number {
    return length(sub(this.points[1], this.points[0]));
  }

  private calibrate(metres: number): void {
    if (this.points.length < 2 || !(metres > 0) || this.distance === 0) return;
    this.metresPerUnit = metres / this.distance;
    this.hasScale = true;
    this.show();
  }

  private text(): string {
    return this.hasScale ? `${rounded(Number((this.distance * this.metresPerUnit).toPrecision(4)))} m`
      : `${rounded(Number(this.distance.toPrecision(4)))} units`;
  }

  private show(problem: string | null = null): void {
    const isComplete = this.points.length === 2;
    this.output.textContent = isComplete ? this.text() : "–";
    this.coordinates.replaceChildren(
      ...this.points.map((p) => el("li", {}, p.map((x) => Number(x.toPrecision(5))).join(", "))));
    this.hint.textContent = problem ??
      (isComplete ? "Drag the ends, or click for new ones. If you know the length, enter it."
        : `Click on the ${this.points.length === 0 ? "first" : "second"} point.`);
    this.known.input.disabled = !isComplete;
    if (isComplete) this.known.set(this.distance * this.metresPerUnit);
    this.overlay.update();
  }

  private draw(): void {
    const places = this.points.map((p) => this.overlay.place(p));
    this.dots.forEach((dot, i) => {
      const at = places[i];
      dot.style.display = at ? "" : "none";
      if (at) setAttributes(dot, { cx: at[0], cy: at[1] });
    });
    const isComplete = this.points.length === 2;
    this.line.setAttribute("d", isComplete ? this.overlay.line(this.points[0], this.points[1]) : "");
    const [a, b] = places;
    this.label.textContent = isComplete && a && b ? this.text() : "";
    if (a && b) setAttributes(this.label, { x: (a[0] + b[0]) / 2, y: (a[1] + b[1]) / 2 - 8 });
  }
}

function setAttributes(element: Element, values: Record<string, number>): void {
  for (const [name, value] of Object.entries(values)) element.setAttribute(name, value.toFixed(1));
}
