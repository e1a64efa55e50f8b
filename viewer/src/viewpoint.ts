// SPDX-License-Identifier: Apache-2.0
// Where the visitor looks from, and through which lens. Controls move it; pictures and overlays follow it.
import { cameraFromWorld, mix, poseOf, resized, slerp, type Pose } from "./camera_math";
import type { Camera, Vec3 } from "./protocol";

const kSettledMs = 160; // without a move, after which the visitor is taken to stand still
const kFlightMs = 700;

export class Viewpoint {
  pose: Pose;
  fovDegrees: number; // vertical, of the free lens
  focus: Vec3; // what the visitor turns about
  isMoving = false;
  isFlying = false;
  // The camera whose lens is looked through, if the visitor has not moved since; then the picture has its aspect.
  through: { index: number; camera: Camera } | null = null;

  private readonly listeners: ((viewpoint: Viewpoint) => void)[] = [];
  private settling = 0;
  private flight = 0;

  constructor(start: Camera, focus: Vec3) {
    this.pose = poseOf(start);
    this.fovDegrees = fovOf(start);
    this.focus = focus;
  }

  // Calls back after every change, and once more when a movement has ended.
  onChange(listener: (viewpoint: Viewpoint) => void): void {
    this.listeners.push(listener);
  }

  // Moves at once, as controls do; ends a flight, and leaves the lens of a camera.
  move(pose: Pose, focus: Vec3 = this.focus): void {
    this.endFlight();
    this.through = null;
    this.place(pose, focus);
  }

  setFov(degrees: number): void {
    this.endFlight();
    this.through = null;
    this.fovDegrees = Math.min(120, Math.max(5, degrees));
    this.place(this.pose, this.focus);
  }

  // Flies there; whatever else moves the visitor ends the flight.
  flyTo(pose: Pose, focus: Vec3 = this.focus, fovDegrees = this.fovDegrees): void {
    this.fly(pose, focus, fovDegrees, null);
  }

  // Flies to a camera, and looks through its lens on arrival. `fovDegrees` is what the free lens has then.
  flyThrough(index: number, camera: Camera, focus: Vec3, fovDegrees: number): void {
    this.fly(poseOf(camera), focus, fovDegrees, { index, camera });
  }

  // Stops looking through the lens of a camera, without moving.
  leave(): void {
    if (!this.through) return;
    this.through = null;
    this.place(this.pose, this.focus);
  }

  // The camera for a picture of this size in device pixels.
  cameraFor(width: number, height: number): Camera {
    if (this.through) return resized(this.through.camera, width, height);
    const f = height / 2 / Math.tan((this.fovDegrees * Math.PI) / 360);
    return {
      width, height, fx: f, fy: f, cx: width / 2, cy: height / 2, camera_from_world: cameraFromWorld(this.pose),
    };
  }

  private fly(pose: Pose, focus: Vec3, fovDegrees: number, through: typeof this.through): void {
    this.endFlight();
    this.through = null;
    this.isFlying = true;
    const from = { pose: this.pose, focus: this.focus, fov: this.fovDegrees };
    const duration = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : kFlightMs;
    const start = performance.now();
    const frame = (now: number) => {
      const t = duration > 0 ? Math.min(1, Math.max(0, now - start) / duration) : 1;
      const eased = t * t * (3 - 2 * t);
      this.fovDegrees = from.fov + (fovDegrees - from.fov) * eased;
      if (t < 1) {
        this.flight = requestAnimationFrame(frame);
      } else {
        this.isFlying = false;
        this.through = through;
      }
      this.place(
        {
          position: mix(from.pose.position, pose.position, eased),
          rotation: slerp(from.pose.rotation, pose.rotation, eased),
        },
        mix(from.focus, focus, eased),
      );
    };
    this.flight = requestAnimationFrame(frame);
  }

  private endFlight(): void {
    cancelAnimationFrame(this.flight);
    this.isFlying = false;
  }

  private place(pose: Pose, focus: Vec3): void {
    this.pose = pose;
    this.focus = focus;
    this.isMoving = true;
    clearTimeout(this.settling);
    this.settling = window.setTimeout(() => {
      this.isMoving = false;
      this.notify();
    }, kSettledMs);
    this.notify();
  }

  private notify(): void {
    for (const listener of this.listeners) listener(this);
  }
}

export function fovOf(camera: Camera): number {
  return (2 * Math.atan(camera.height / 2 / camera.fy) * 180) / Math.PI;
}
