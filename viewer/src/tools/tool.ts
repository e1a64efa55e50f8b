// SPDX-License-Identifier: Apache-2.0
// What tools have in common.
import { dot, forward, inCamera, onPicture, poseOf, rayThrough, scale, sub, add } from "../camera_math";
import { svg } from "../dom";
import type { Camera, Vec3 } from "../protocol";
import type { Stage } from "../stage";

export interface Tool {
  readonly name: string;
  readonly element: HTMLElement; // for the panel
  activate(): void;
  deactivate(): void;
}

const kTapPixels = 5;
const kNearest = 1e-3; // of the depth of the other end, where a line goes behind the camera

// Lines and handles over the picture, drawn anew whenever the camera changes.
export class Overlay {
  readonly element = svg("svg", { class: "layer tool-overlay", "aria-hidden": "true" });
  camera: Camera;
  private isShown = false;

  constructor(readonly stage: Stage, private readonly redraw: () => void) {
    this.camera = stage.camera();
    stage.onCamera((camera) => {
      this.camera = camera;
      this.update();
    });
  }

  show(isShown: boolean): void {
    this.isShown = isShown;
    if (isShown) this.stage.frame.append(this.element);
    else this.element.remove();
    this.update();
  }

  update(): void {
    if (this.isShown) this.redraw();
  }

  // Where a point is on the picture, in CSS pixels; null if it is behind the camera.
  place(point: Vec3): [number, number] | null {
    const p = inCamera(this.camera, point);
    return p[2] > 0 ? onPicture(this.camera, p) : null;
  }

  // The visible part of a line, as the data of a path; empty if all of it is behind the camera.
  line(from: Vec3, to: Vec3): string {
    let a = inCamera(this.camera, from), b = inCamera(this.camera, to);
    const near = kNearest * Math.max(a[2], b[2]);
    if (near <= 0) return "";
    const cut = (behind: Vec3, ahead: Vec3): Vec3 =>
      add(behind, scale(sub(ahead, behind), (near - behind[2]) / (ahead[2] - behind[2])));
    if (a[2] < near) a = cut(a, b);
    if (b[2] < near) b = cut(b, a);
    const text = (p: Vec3) => onPicture(this.camera, p).map((x) => Math.max(-1e5, Math.min(1e5, x)).toFixed(1)).join(" ");
    return `M${text(a)}L${text(b)}`;
  }

  // Where a pointer is, in CSS pixels of the picture.
  at(event: MouseEvent): [number, number] {
    const frame = this.stage.frame.getBoundingClientRect();
    return [event.clientX - frame.left, event.clientY - frame.top];
  }

  // The point below this place of the picture that is as far ahead as `point`.
  levelWith(point: Vec3, [x, y]: [number, number]): Vec3 {
    const pose = poseOf(this.camera);
    const direction = rayThrough(this.camera, x, y), ahead = forward(pose);
    const depth = dot(sub(point, pose.position), ahead);
    return add(pose.position, scale(direction, depth / dot(direction, ahead)));
  }

  // Drags a handle: `moved` hears where the pointer is.
  draggable(handle: SVGElement, start: (at: [number, number]) => (at: [number, number]) => void): void {
    handle.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.preventDefault(); // not for the controls
      event.stopPropagation();
      handle.setPointerCapture(event.pointerId);
      const moved = start(this.at(event));
      const move = (next: PointerEvent) => moved(this.at(next));
      handle.addEventListener("pointermove", move);
      const end = () => handle.removeEventListener("pointermove", move);
      handle.addEventListener("lostpointercapture", end, { once: true });
    });
  }
}

// Calls back for clicks and taps on the picture that are no drags. Returns how to end that.
export function onTap(stage: Stage, tapped: (event: PointerEvent) => void): () => void {
  let pressed: PointerEvent | null = null;
  const press = (event: PointerEvent) => (pressed = event.button === 0 && event.isPrimary ? event : null);
  const release = (event: PointerEvent) => {
    const isTap =
      pressed !== null && Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) < kTapPixels;
    pressed = null;
    if (isTap && event.button === 0) tapped(event);
  };
  stage.frame.addEventListener("pointerdown", press);
  stage.frame.addEventListener("pointerup", release);
  return () => {
    stage.frame.removeEventListener("pointerdown", press);
    stage.frame.removeEventListener("pointerup", release);
  };
}
