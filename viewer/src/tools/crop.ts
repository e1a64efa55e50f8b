// SPDX-License-Identifier: Apache-2.0
// A box outside of which everything is hidden. It can be moved, resized and turned by handles and by numbers, and is written
// as `stipple convert --crop` takes it.
import { angles, boxText, corners, parseBox, rotationOf, withMovedFace, type TurnedBox } from "../box";
import { aboutAxis, add, dot, forward, multiplied, poseOf, rotated, scale, sub, unit } from "../camera_math";
import { button, el, svg } from "../dom";
import type { LocalView } from "../local_view";
import type { Bounds, Vec3 } from "../protocol";
import type { Stage } from "../stage";
import { checkbox, numberField } from "./fields";
import { Overlay, type Tool } from "./tool";

const kAxes: Vec3[] = [[1, 0, 0], [0, 1, 0], [0, 0, 1]];
const kNames = ["x", "y", "z"];

export class CropTool implements Tool {
  readonly name = "Crop";
  readonly element: HTMLElement;

  private box: TurnedBox;
  private readonly overlay: Overlay;
  private readonly edges = svg("path", { class: "line" });
  private readonly middle = svg("circle", { class: "handle", r: 8 });
  private readonly faces: { axis: number; end: -1 | 1; dot: SVGCircleElement }[] = [];
  private readonly turns: { axis: number; dot: SVGRectElement }[] = [];
  private readonly isOn = checkbox("Hide what is outside", false, () => this.changed());
  private readonly text = el("input", { type: "text", "aria-label": "Box, as numbers", spellcheck: "false" });
  private readonly problem = el("p", { class: "hint", role: "status" });

  private readonly centers = kNames.map((name, i) =>
    numberField(`Centre ${name}`, { short: name }, 0, (v) => this.set({ center: replaced(this.box.center, i, v) })));
  private readonly sizes = kNames.map((name, i) =>
    numberField(`Size ${name}`, { min: 0, short: name }, 0, (v) => this.set({ half: replaced(this.box.half, i, v / 2) })));
  private readonly angles = kNames.map((name, i) =>
    numberField(`Turn about ${name} in degrees`, { short: name }, 0, (v) =>
      this.set({ rotation: rotationOf(replaced(angles(this.box.rotation), i, v)) })));

  constructor(stage: Stage, private readonly local: LocalView, private readonly bounds: Bounds) {
    this.box = this.whole();
    this.overlay = new Overlay(stage, () => this.draw());
    this.addHandles();
    this.text.addEventListener("change", () => this.read());
    const row = (name: string, fields: { element: HTMLElement }[]) =>
      el("div", { class: "three-fields" }, el("span", {}, name), ...fields.map((f) => f.element));
    const copy = async () => {
      try {
        await navigator.clipboard.writeText(this.argument());
        this.problem.textContent = "The argument has been copied.";
      } catch { // as for pages of http: from another machine
        this.text.select();
        this.problem.textContent = "The browser does not allow that here; the numbers above are selected for you to copy.";
      }
    };
    this.element = el("div", { class: "tool" },
      this.isOn.element,
      row("Centre", this.centers), row("Size", this.sizes), row("Turn °", this.angles),
      this.text,
      el("div", { class: "buttons" },
        button("Copy --crop", null, () => void copy()),
        button("Whole model", null, () => this.set(this.whole()))),
      this.problem,
      el("p", { class: "hint" }, "Drag the round handles of the faces, the one in the middle, or the square ones to turn the box."));
    this.show();
  }

  activate(): void {
    if (this.local.crop === null) this.isOn.input.checked = true;
    this.overlay.show(true);
    this.changed();
  }

  deactivate(): void {
    this.overlay.show(false);
  }

  // For the command line. The equals sign keeps a leading minus from being taken for an option.
  private argument(): string {
    return `--crop=${boxText(this.box)}`;
  }

  private whole(): TurnedBox {
    const { min, max } = this.bounds;
    return { center: scale(add(min, max), 0.5), half: scale(sub(max, min), 0.5), rotation: [1, 0, 0, 0] };
  }

  private set(change: Partial<TurnedBox>): void {
    this.box = { ...this.box, ...change };
    this.changed();
  }

  private read(): void {
    const box = parseBox(this.text.value.replace(/^\s*--crop[= ]/, ""));
    if (box) this.set(box);
    else this.problem.textContent = "A box has 6 numbers, xmin,ymin,zmin,xmax,ymax,zmax, or 10 with a quaternion w,x,y,z.";
  }

  private changed(): void {
    this.local.crop = this.isOn.input.checked ? this.box : null;
    this.problem.textContent = "";
    this.show();
    this.overlay.update();
  }

  private show(): void {
    const turned = angles(this.box.rotation);
    for (let i = 0; i < 3; ++i) {
      this.centers[i].set(this.box.center[i]);
      this.sizes[i].set(2 * this.box.half[i]);
      this.angles[i].set(Number(turned[i].toFixed(3)));
    }
    this.text.value = boxText(this.box);
  }

  private addHandles(): void {
    const { overlay } = this;
    overlay.element.append(this.edges);
    overlay.draggable(this.middle, (start) => {
      const center = this.box.center, grabbed = overlay.levelWith(center, start);
      return (at) => this.set({ center: add(center, sub(overlay.levelWith(center, at), grabbed)) });
    });
    for (let axis = 0; axis < 3; ++axis) {
      for (const end of [-1, 1] as const) {
        const handle = svg("circle", { class: `handle axis-${kNames[axis]}`, r: 6 });
        overlay.draggable(handle, (start) => {
          const box = this.box, outwards = rotated(box.rotation, scale(kAxes[axis], end));
          const face = add(box.center, scale(outwards, box.half[axis]));
          const grabbed = this.alongAxis(face, outwards, start);
          return (at) => this.set(withMovedFace(box, axis, end, this.alongAxis(face, outwards, at) - grabbed));
        });
        this.faces.push({ axis, end, dot: handle });
        overlay.element.append(handle);
      }
      const turn = svg("rect", { class: `handle axis-${kNames[axis]}`, width: 11, height: 11 });
      overlay.draggable(turn, (start) => this.turning(axis, start));
      this.turns.push({ axis, dot: turn });
      overlay.element.append(turn);
    }
    overlay.element.append(this.middle);
  }

  // How far along the line from `from` the pointer is.
  private alongAxis(from: Vec3, direction: Vec3, at: [number, number]): number {
    const a = this.overlay.place(from), step = 1e-2 * Math.max(...this.box.half);
    const b = this.overlay.place(add(from, scale(direction, step)));
    if (!a || !b) return 0;
    const d = [b[0] - a[0], b[1] - a[1]], squared = d[0] * d[0] + d[1] * d[1];
    if (squared < 1e-4) return 0; // seen from its end
    return (step * ((at[0] - a[0]) * d[0] + (at[1] - a[1]) * d[1])) / squared;
  }

  // Turns the box as the pointer goes around its centre.
  private turning(axis: number, start: [number, number]): (at: [number, number]) => void {
    const box = this.box, direction = rotated(box.rotation, kAxes[axis]);
    const center = this.overlay.place(box.center);
    if (!center) return () => {};
    const angleAt = ([x, y]: [number, number]) => Math.atan2(y - center[1], x - center[0]);
    const pose = poseOf(this.overlay.camera);
    // From x to y of the picture is the positive sense about an axis that points away.
    const sense = dot(direction, sub(box.center, pose.position)) > 0 ? 1 : -1;
    const first = angleAt(start);
    return (at) =>
      this.set({ rotation: unit(multiplied(aboutAxis(direction, sense * (angleAt(at) - first)), box.rotation)) });
  }

  private draw(): void {
    const c = corners(this.box);
    let data = "";
    for (let i = 0; i < 8; ++i) for (const bit of [1, 2, 4]) if (!(i & bit)) data += this.overlay.line(c[i], c[i | bit]);
    this.edges.setAttribute("d", data);
    this.put(this.middle, this.box.center);
    for (const { axis, end, dot: handle } of this.faces) {
      const offset = rotated(this.box.rotation, scale(kAxes[axis], end * this.box.half[axis]));
      this.put(handle, add(this.box.center, offset));
    }
    // The handle to turn about an axis is in the middle of the nearest visible edge along it.
    const ahead = forward(poseOf(this.overlay.camera));
    for (const { axis, dot: handle } of this.turns) {
      const edges = [0, 1, 2, 3].map((k) => {
        const half = this.box.half.map((h, i) => (i === axis ? 0 : (k >> (i > axis ? i - 1 : i)) & 1 ? h : -h)) as Vec3;
        return add(this.box.center, rotated(this.box.rotation, half));
      });
      edges.sort((a, b) => dot(a, ahead) - dot(b, ahead));
      this.put(handle, edges.find((edge) => this.isOnPicture(edge)) ?? edges[0]);
    }
  }

  private isOnPicture(point: Vec3): boolean {
    const at = this.overlay.place(point), { width, height } = this.overlay.camera;
    return at !== null && at[0] > 0 && at[0] < width && at[1] > 0 && at[1] < height;
  }

  private put(handle: SVGElement, point: Vec3): void {
    const at = this.overlay.place(point);
    handle.style.display = at ? "" : "none";
    if (at) handle.setAttribute("transform", `translate(${at[0].toFixed(1)} ${at[1].toFixed(1)})`);
  }
}

const replaced = (v: Vec3, i: number, value: number): Vec3 => v.map((x, k) => (k === i ? value : x)) as Vec3;
