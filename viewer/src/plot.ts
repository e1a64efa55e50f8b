// SPDX-License-Identifier: Apache-2.0
// A plot of a value over the steps: a line, dots, axes, and what is below the pointer. Colours are those of the page's style.
import { el, svg } from "./dom";
import { short } from "./format";
import { logTicks, thinned, ticks } from "./history";

type Points = [number, number][]; // step, value; by step

const kHeight = 116, kLeft = 40, kRight = 8, kTop = 8, kBottom = 20;

export interface PlotOptions {
  name: string;
  format: (value: number) => string; // with its unit
  axisFormat: (value: number) => string;
  isLogarithmic?: boolean;
}

export class Plot {
  readonly element: HTMLElement;
  private readonly drawing = svg("svg", { role: "img", height: kHeight });
  private readonly readout = el("output", { class: "readout" });
  private line: Points = [];
  private dots: Points = [];
  private lastStep = 0;
  private width = 0;
  private pointer: number | null = null;
  private isDrawing = false;

  constructor(private readonly options: PlotOptions) {
    this.element = el("figure", { class: "plot" },
      el("figcaption", {}, el("span", {}, options.name), this.readout), this.drawing);
    new ResizeObserver(() => {
      this.width = this.element.clientWidth;
      this.redraw();
    }).observe(this.element);
    this.drawing.addEventListener("pointermove", (event) => this.point(event.offsetX));
    this.drawing.addEventListener("pointerleave", () => this.point(null));
  }

  set(line: Points, dots: Points, lastStep: number): void {
    this.line = line.filter(([, value]) => Number.isFinite(value));
    this.dots = dots;
    this.lastStep = lastStep;
    this.redraw();
  }

  private point(x: number | null): void {
    this.pointer = x;
    this.redraw();
  }

  private redraw(): void {
    if (this.isDrawing) return;
    this.isDrawing = true;
    requestAnimationFrame(() => {
      this.isDrawing = false;
      this.draw();
    });
  }

  private draw(): void {
    const newest = this.line.at(-1) ?? this.dots.at(-1);
    this.drawing.replaceChildren();
    this.drawing.setAttribute("aria-label", newest
      ? `${this.options.name} ${this.options.format(newest[1])} at step ${newest[0]}`
      : `${this.options.name}: nothing measured yet`);
    this.readout.textContent = newest ? this.options.format(newest[1]) : "";
    if (this.width < kLeft + kRight + 20 || !newest) return;
    this.drawing.setAttribute("viewBox", `0 0 ${this.width} ${kHeight}`);

    const drawn = thinned(this.line, Math.floor(this.width / 2));
    const [x, y, yTicks] = this.scales(drawn);
    const right = this.width - kRight, bottom = kHeight - kBottom;
    for (const tick of yTicks) {
      this.drawing.append(
        svg("line", { class: "grid", x1: kLeft, x2: right, y1: y(tick), y2: y(tick) }),
        svg("text", { x: kLeft - 6, y: y(tick) + 3.5, "text-anchor": "end" }, this.options.axisFormat(tick)));
    }
    const xTicks = ticks(0, this.lastX(), Math.max(2, Math.floor(this.width / 90)));
    for (const tick of xTicks) {
      const anchor = x(tick) > right - 16 ? "end" : "middle";
      this.drawing.append(svg("text", { x: x(tick), y: kHeight - 5, "text-anchor": anchor }, short(tick)));
    }
    const path = drawn.map(([step, value], i) => `${i === 0 ? "M" : "L"}${x(step).toFixed(1)} ${y(value).toFixed(1)}`);
    this.drawing.append(svg("path", { class: "line", d: path.join("") }));
    for (const [step, value] of this.dots) {
      this.drawing.append(svg("circle", { class: "dot", cx: x(step), cy: y(value), r: 3 }));
    }
    this.drawPointer(x, y, bottom);
  }

  private drawPointer(x: (step: number) => number, y: (value: number) => number, bottom: number): void {
    if (this.pointer === null) return;
    const at = this.pointer;
    const nearest = (points: Points) =>
      points.reduce<[number, number] | null>(
        (best, p) => (best === null || Math.abs(x(p[0]) - at) < Math.abs(x(best[0]) - at) ? p : best), null);
    const dot = nearest(this.dots);
    const isDot = dot !== null && Math.abs(x(dot[0]) - at) < 6;
    const found = isDot ? dot : nearest(this.line);
    if (!found) return;
    this.drawing.append(
      svg("line", { class: "pointer", x1: x(found[0]), x2: x(found[0]), y1: kTop, y2: bottom }),
      svg("circle", { class: "pointed", cx: x(found[0]), cy: y(found[1]), r: 3.5 }));
    this.readout.textContent =
      `${isDot ? "evaluation, " : ""}step ${short(found[0])}: ${this.options.format(found[1])}`;
  }

  private lastX(): number {
    return Math.max(this.lastStep, this.line.at(-1)?.[0] ?? 0, this.dots.at(-1)?.[0] ?? 0, 1);
  }

  private scales(drawn: Points): [(step: number) => number, (value: number) => number, number[]] {
    const right = this.width - kRight, bottom = kHeight - kBottom;
    const x = (step: number) => kLeft + ((right - kLeft) * step) / this.lastX();
    const values = [...drawn, ...this.dots].map(([, value]) => value);
    let low = Math.min(...values), high = Math.max(...values);
    if (this.options.isLogarithmic) {
      low = Math.max(low, 1e-9) / 1.1;
      high = Math.max(high, 1e-9) * 1.1;
      const y = (value: number) =>
        bottom - ((bottom - kTop) * Math.log(Math.max(value, low) / low)) / Math.log(high / low);
      return [x, y, logTicks(low, high)];
    }
    const margin = (high - low || Math.abs(high) || 1) * 0.06;
    low = low >= 0 ? Math.max(0, low - margin) : low - margin;
    high += margin;
    const y = (value: number) => bottom - ((bottom - kTop) * (value - low)) / (high - low);
    return [x, y, ticks(low, high, 4)];
  }
}
