// SPDX-License-Identifier: Apache-2.0
// The scene's cameras as small pyramids over the picture; a click on one looks through it.
import { inCamera, length, onPicture, poseOf, sub } from "./camera_math";
import { el } from "./dom";
import type { Camera, Vec3, ViewInfo } from "./protocol";
import type { Stage } from "./stage";

const kNear = 0.02; // of the size of a pyramid: what is nearer is cut off
const kClickPx = 14, kDragPx = 4;

interface Frustum {
  apex: Vec3;
  corners: Vec3[]; // of the picture, in order around it
}

export class Frusta {
  readonly canvas = el("canvas", { class: "overlay", "aria-hidden": "true" });
  private readonly label = el("span", { class: "frustum-label", hidden: true });
  private readonly frusta: Frustum[];
  private readonly size: number;
  private isShown = false;
  private isPickable = true;
  private hovered = -1;
  private camera: Camera | null = null;
  private pressed: [number, number] | null = null;

  constructor(
    private readonly stage: Stage, private readonly views: ViewInfo[], private readonly select: (index: number) => void,
  ) {
    this.size = sizeFor(views);
    this.frusta = views.map((view) => frustumOf(view.camera, this.size));
    stage.frame.append(this.canvas, this.label);
    stage.onCamera((camera) => {
      this.camera = camera;
      this.draw();
    });
    const at = (event: PointerEvent): [number, number] => {
      const box = stage.frame.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    stage.frame.addEventListener("pointerdown", (event) => (this.pressed = at(event)));
    stage.frame.addEventListener("pointermove", (event) => event.buttons === 0 && this.hover(this.find(at(event))));
    stage.frame.addEventListener("pointerleave", () => this.hover(-1));
    stage.frame.addEventListener("pointerup", (event) => {
      const [x, y] = at(event);
      const wasClick = this.pressed && Math.hypot(x - this.pressed[0], y - this.pressed[1]) < kDragPx;
      const found = wasClick && event.button === 0 ? this.find([x, y]) : -1;
      if (found >= 0) this.select(found);
    });
  }

  get areShown(): boolean {
    return this.isShown;
  }

  show(isShown: boolean): void {
    this.isShown = isShown;
    this.draw();
  }

  // While a tool is in use, clicks are for the tool.
  setPickable(isPickable: boolean): void {
    this.isPickable = isPickable;
  }

  private hover(index: number): void {
    if (index === this.hovered) return;
    this.hovered = index;
    this.stage.frame.classList.toggle("pointing", index >= 0);
    this.draw();
  }

  // The camera at this place of the picture, or -1: the nearest to the visitor of those whose apex or picture is close.
  private find([x, y]: [number, number]): number {
    const camera = this.camera;
    if (!camera || !this.isShown || !this.isPickable || this.stage.viewpoint.through) return -1;
    let best = -1, bestScore = Infinity;
    this.frusta.forEach((frustum, i) => {
      const p = inCamera(camera, frustum.apex);
      if (p[2] < this.size) return;
      const [u, v] = onPicture(camera, p);
      const reach = Math.max(kClickPx, (camera.fx * this.size * 0.5) / p[2]);
      const distance = Math.hypot(u - (x % camera.width), v - y);
      const score = distance / reach + 0.01 * p[2];
      if (distance < reach && score < bestScore) [best, bestScore] = [i, score];
    });
    return best;
  }

  private draw(): void {
    const camera = this.camera;
    const context = this.canvas.getContext("2d")!;
    const density = Math.min(devicePixelRatio, 2);
    const width = this.stage.frame.clientWidth, height = this.stage.frame.clientHeight;
    this.canvas.width = Math.round(width * density);
    this.canvas.height = Math.round(height * density);
    this.label.hidden = true;
    if (!camera || !this.isShown || this.stage.viewpoint.through) return;
    context.scale(density, density);
    context.lineJoin = "round";
    for (let column = 0; column < this.stage.columns; ++column) {
      context.save();
      context.translate(column * camera.width, 0);
      context.beginPath();
      context.rect(0, 0, camera.width, height);
      context.clip();
      // Far ones first.
      const depths = this.frusta.map((frustum) => inCamera(camera, frustum.apex)[2]);
      const order = depths.map((_, i) => i).sort((a, b) => depths[b] - depths[a]);
      for (const i of order) this.drawOne(context, camera, i);
      context.restore();
    }
  }

  private drawOne(context: CanvasRenderingContext2D, camera: Camera, index: number): void {
    const { apex, corners } = this.frusta[index];
    const isHovered = index === this.hovered;
    const near = kNear * this.size;
    const a = inCamera(camera, apex), c = corners.map((p) => inCamera(camera, p));
    if (a[2] < near && c.every((p) => p[2] < near)) return;
    context.beginPath();
    for (let i = 0; i < 4; ++i) {
      segment(context, camera, near, a, c[i]);
      segment(context, camera, near, c[i], c[(i + 1) % 4]);
    }
    const color = this.views[index].is_test ? "255, 166, 64" : "92, 158, 255";
    // Cameras that surround the visitor do not hide the picture.
    const nearness = Math.min(1, Math.max(0.15, (a[2] / this.size - 0.5) / 3));
    context.strokeStyle = isHovered ? "#fff" : `rgba(${color}, ${0.9 * nearness})`;
    context.lineWidth = isHovered ? 2 : 1.2;
    context.stroke();
    if (c.every((p) => p[2] >= near)) {
      context.beginPath();
      for (const p of c) context.lineTo(...onPicture(camera, p));
      context.closePath();
      context.fillStyle = `rgba(${color}, ${isHovered ? 0.35 : 0.12 * nearness})`;
      context.fill();
    }
    if (isHovered && a[2] >= near) {
      const [u, v] = onPicture(camera, a);
      this.label.textContent = this.views[index].name + (this.views[index].is_test ? " (held out)" : "");
      this.label.style.transform = `translate(${Math.round(u)}px, ${Math.round(v)}px)`;
      this.label.hidden = false;
    }
  }
}

// Draws the part of a line between two points in the camera's frame that is in front of it.
function segment(context: CanvasRenderingContext2D, camera: Camera, near: number, a: Vec3, b: Vec3): void {
  if (a[2] < near && b[2] < near) return;
  const cut = (p: Vec3, q: Vec3): Vec3 => {
    if (p[2] >= near) return p;
    const t = (near - p[2]) / (q[2] - p[2]);
    return [p[0] + t * (q[0] - p[0]), p[1] + t * (q[1] - p[1]), near];
  };
  context.moveTo(...onPicture(camera, cut(a, b)));
  context.lineTo(...onPicture(camera, cut(b, a)));
}

function frustumOf(camera: Camera, size: number): Frustum {
  const pose = poseOf(camera);
  const longest = Math.max(camera.width / camera.fx, camera.height / camera.fy);
  const depth = size / Math.max(1, longest); // of the picture, so that wide lenses do not give large pyramids
  const m = camera.camera_from_world;
  const corner = (u: number, v: number): Vec3 => {
    const d = [((u - camera.cx) / camera.fx) * depth, ((v - camera.cy) / camera.fy) * depth, depth];
    return [0, 1, 2].map(
      (i) => pose.position[i] + m[0][i] * d[0] + m[1][i] * d[1] + m[2][i] * d[2]) as Vec3;
  };
  const { width: w, height: h } = camera;
  return { apex: pose.position, corners: [corner(0, 0), corner(w, 0), corner(w, h), corner(0, h)] };
}

// A size at which neighbours do not cover each other: most of the median distance of a camera to the nearest other one.
function sizeFor(views: ViewInfo[]): number {
  const places = views.map((view) => poseOf(view.camera).position);
  const step = Math.max(1, Math.floor(places.length / 100)); // of large scenes, some cameras are enough
  const nearest: number[] = [];
  for (let i = 0; i < places.length; i += step) {
    const distances = places.filter((_, j) => j !== i).map((p) => length(sub(p, places[i]))).filter((d) => d > 0);
    if (distances.length > 0) nearest.push(distances.reduce((a, b) => Math.min(a, b)));
  }
  nearest.sort((a, b) => a - b);
  return nearest.length > 0 ? 0.8 * nearest[nearest.length >> 1] : 0.3;
}
