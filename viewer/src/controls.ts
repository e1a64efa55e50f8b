// SPDX-License-Identifier: Apache-2.0
// Moves the viewpoint by mouse, touch and keyboard: around a focus (orbit), freely (fly), or over level ground (walk).
//
// What a visitor asks for is collected, and every frame carries out a part of it that depends on the time since the last
// one, so that movement is smooth and the same at any frame rate.
import { add, forward, length, lookAt, scale, sub } from "./camera_math";
import { dollied, flown, focusDepth, orbited, turned, walked } from "./camera_moves";
import { isTyping, type Keys } from "./keys";
import type { Bounds, Vec3 } from "./protocol";
import type { Viewpoint } from "./viewpoint";

export type ControlMode = "orbit" | "fly" | "walk";
export type SurfaceAt = (x: number, y: number) => Vec3 | null; // in CSS pixels of the frame

const kSmoothSeconds = 0.06; // after which 63 % of a movement has been carried out
const kOrbitPerPixel = 0.005; // radians
const kKeyTurn = 1.5; // radians per second
const kKeyZoom = 1.5; // doublings per second
const kSpeed = 0.5; // radii of the scene per second
const kFastFactor = 4; // with shift
const kTapPixels = 8;
const kDoubleTapMs = 350;
const kSlowestFrame = 0.1; // seconds; after a longer pause, nothing jumps

interface Wanted { // not carried out yet
  yaw: number;
  pitch: number;
  zoom: number; // doublings of the distance
  drag: [number, number]; // pixels by which the scene follows the pointer
  step: Vec3; // right, down, forward; scene units
}

const kNothing = (): Wanted => ({ yaw: 0, pitch: 0, zoom: 0, drag: [0, 0], step: [0, 0, 0] });

const kStepKeys: Record<string, Vec3> = {
  w: [0, 0, 1], s: [0, 0, -1], a: [-1, 0, 0], d: [1, 0, 0], q: [0, 1, 0], e: [0, -1, 0],
};
const kTurnKeys: Record<string, [number, number]> = {
  arrowleft: [-1, 0], arrowright: [1, 0], arrowup: [0, 1], arrowdown: [0, -1],
};

export class Controls {
  surfaceAt: SurfaceAt | null = null;
  private mode_: ControlMode = "orbit";
  private speed_ = 1;
  private wanted = kNothing();
  private readonly held = new Set<string>();
  private readonly pointers = new Map<number, { x: number; y: number; button: number }>();
  private travelled = 0; // by the pointer since it was pressed
  private lastTap = { time: -Infinity, x: 0, y: 0 };
  private frame = 0;
  private lastTime = 0;

  constructor(
    private readonly element: HTMLElement, private readonly viewpoint: Viewpoint, private readonly bounds: Bounds,
    keys: Keys,
  ) {
    element.style.touchAction = "none";
    element.addEventListener("pointerdown", (event) => this.press(event));
    element.addEventListener("pointermove", (event) => this.move(event));
    element.addEventListener("pointerup", (event) => this.release(event, true));
    element.addEventListener("pointercancel", (event) => this.release(event, false));
    element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    element.addEventListener("contextmenu", (event) => event.preventDefault());
    addEventListener("keydown", (event) => this.key(event, true));
    addEventListener("keyup", (event) => this.key(event, false));
    addEventListener("blur", () => this.held.clear());
    this.describe(keys);
  }

  get mode(): ControlMode {
    return this.mode_;
  }
  set mode(mode: ControlMode) {
    this.mode_ = mode;
    this.wanted = kNothing();
  }

  // A factor on the usual speed of steps.
  get speed(): number {
    return this.speed_;
  }
  set speed(factor: number) {
    this.speed_ = Math.min(100, Math.max(0.01, factor));
  }

  // Turns to this point, and makes it the focus.
  lookTo(point: Vec3): void {
    this.wanted = kNothing();
    this.viewpoint.flyTo(lookAt(this.viewpoint.pose.position, point, this.bounds.up), point);
  }

  private describe(keys: Keys): void {
    const group = "Move";
    keys.add({ keys: ["Drag"], group, text: "Turn; with the right button or shift, or two fingers: move sideways" });
    keys.add({ keys: ["Wheel", "Pinch"], group, text: "Nearer or farther" });
    keys.add({ keys: ["Double click"], group, text: "Look at this point" });
    keys.add({ keys: ["w", "a", "s", "d"], group, text: "Forward, left, back, right (shift: faster)" });
    keys.add({ keys: ["q", "e"], group, text: "Down, up" });
    keys.add({ keys: ["arrowleft", "arrowright", "arrowup", "arrowdown"], group, text: "Turn" });
    keys.add({ keys: ["+", "-"], group, text: "Nearer, farther (orbit); faster, slower (fly, walk)" });
  }

  private press(event: PointerEvent): void {
    if (event.defaultPrevented) return;
    this.element.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { x: event.clientX, y: event.clientY, button: event.button });
    if (this.pointers.size === 1) this.travelled = 0;
    else this.travelled = Infinity; // not a tap
  }

  private move(event: PointerEvent): void {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) return;
    const before = this.grip();
    const dx = event.clientX - pointer.x, dy = event.clientY - pointer.y;
    pointer.x = event.clientX;
    pointer.y = event.clientY;
    this.travelled += Math.hypot(dx, dy);
    if (this.pointers.size > 1) {
      const after = this.grip();
      this.drag(after.x - before.x, after.y - before.y);
      this.wanted.zoom += Math.log2(before.width / after.width);
      this.wanted.yaw -= angleBetween(before.angle, after.angle);
    } else if (pointer.button === 0 && !event.shiftKey) {
      // What is seen follows the pointer; in an orbit, that is its near side.
      const perPixel = this.mode === "orbit" ? kOrbitPerPixel : -this.radiansPerPixel();
      this.wanted.yaw += perPixel * dx;
      this.wanted.pitch -= perPixel * dy;
    } else {
      this.drag(dx, dy);
    }
    this.start();
  }

  private release(event: PointerEvent, isLifted: boolean): void {
    if (!this.pointers.delete(event.pointerId) || !isLifted || this.travelled > kTapPixels || event.button !== 0) return;
    const { time, x, y } = this.lastTap;
    const isDouble =
      event.timeStamp - time < kDoubleTapMs && Math.hypot(event.clientX - x, event.clientY - y) < 3 * kTapPixels;
    this.lastTap = { time: isDouble ? -Infinity : event.timeStamp, x: event.clientX, y: event.clientY };
    if (!isDouble) return;
    const frame = this.element.getBoundingClientRect();
    const point = this.surfaceAt?.(event.clientX - frame.left, event.clientY - frame.top);
    if (point) this.lookTo(point);
  }

  private wheel(event: WheelEvent): void {
    if (event.defaultPrevented) return;
    event.preventDefault();
    const pixels = event.deltaY * [1, 16, 400][event.deltaMode];
    // A pinch on a touch pad comes as a small wheel movement with the control key.
    const doublings = Math.max(-1, Math.min(1, pixels * (event.ctrlKey ? 0.012 : 0.0025)));
    if (this.mode === "orbit") this.wanted.zoom += doublings;
    else this.wanted.step[2] -= doublings * this.unitsPerSecond() * 0.5;
    this.start();
  }

  private key(event: KeyboardEvent, isDown: boolean): void {
    const key = event.key.toLowerCase();
    if (!isDown || isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) {
      this.held.delete(key);
      if (key === "shift") this.held.delete("shift");
      return;
    }
    if (event.defaultPrevented) return;
    if (event.target instanceof Element && event.target.closest("[role=tab], [role=slider]")) return; // their own arrows
    const isNearer = key === "+" || key === "=", isFarther = key === "-" || key === "_";
    if (this.mode !== "orbit" && (isNearer || isFarther)) {
      if (!event.repeat) this.speed *= isNearer ? 1.5 : 1 / 1.5;
      return;
    }
    if (!(key in kStepKeys || key in kTurnKeys || key === "shift" || isNearer || isFarther)) return;
    this.held.add(key);
    if (key.startsWith("arrow")) event.preventDefault(); // no scrolling
    this.start();
  }

  private unitsPerSecond(): number {
    const { pose, focus } = this.viewpoint;
    // Slower near the focus, so that small things can be walked around.
    const reach = this.mode === "orbit" ? length(sub(focus, pose.position)) : this.bounds.radius;
    return kSpeed * this.speed * reach * (this.held.has("shift") ? kFastFactor : 1);
  }

  private radiansPerPixel(): number {
    return ((this.viewpoint.fovDegrees / 180) * Math.PI) / Math.max(1, this.element.clientHeight);
  }

  private drag(dx: number, dy: number): void {
    this.wanted.drag[0] += dx;
    this.wanted.drag[1] += dy;
  }

  // The middle of the pointers, how far they are apart, and in which direction.
  private grip(): { x: number; y: number; width: number; angle: number } {
    const [a, b = a] = [...this.pointers.values()];
    return {
      x: (a.x + b.x) / 2,
      y: (a.y + b.y) / 2,
      width: Math.max(1, Math.hypot(b.x - a.x, b.y - a.y)),
      angle: Math.atan2(b.y - a.y, b.x - a.x),
    };
  }

  private start(): void {
    if (this.frame) return;
    this.lastTime = performance.now();
    this.frame = requestAnimationFrame((now) => this.advance(now));
  }

  private advance(now: number): void {
    const seconds = Math.min(kSlowestFrame, Math.max(0, now - this.lastTime) / 1000);
    this.lastTime = now;
    this.hold(seconds);
    const isStill = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const part = isStill ? 1 : 1 - Math.exp(-seconds / kSmoothSeconds);
    this.carryOut(part);
    const goesOn = this.held.size > 0 || !isSmall(this.wanted, this.bounds.radius);
    this.frame = goesOn ? requestAnimationFrame((next) => this.advance(next)) : 0;
    if (!goesOn) this.wanted = kNothing();
  }

  private hold(seconds: number): void {
    for (const key of this.held) {
      const step = kStepKeys[key], turn = kTurnKeys[key];
      if (step) this.wanted.step = add(this.wanted.step, scale(step, this.unitsPerSecond() * seconds));
      if (turn) {
        // In an orbit, the arrows tell where the visitor goes, and the view turns the other way.
        const angle = (this.mode === "orbit" ? -1 : 1) * kKeyTurn * seconds;
        this.wanted.yaw += turn[0] * angle;
        this.wanted.pitch += turn[1] * angle;
      }
      if (key === "+" || key === "=") this.wanted.zoom -= kKeyZoom * seconds;
      if (key === "-" || key === "_") this.wanted.zoom += kKeyZoom * seconds;
    }
  }

  // Carries out this part of what is wanted.
  private carryOut(part: number): void {
    const w = this.wanted;
    let { pose, focus } = this.viewpoint;
    const { up, radius } = this.bounds;
    const distance = Math.max(focusDepth(pose, focus), 0.02 * radius);

    // The plane of the focus follows the pointer.
    const perPixel = (distance * 2 * Math.tan(this.viewpoint.fovDegrees * (Math.PI / 360))) / this.element.clientHeight;
    const slide = flown(pose, [-w.drag[0] * perPixel * part, -w.drag[1] * perPixel * part, 0]);
    focus = add(focus, sub(slide.position, pose.position));
    pose = slide;

    const step = scale(w.step, part);
    const stepped = this.mode === "walk" ? walked(pose, up, step) : flown(pose, step);
    if (this.mode === "orbit") {
      focus = add(focus, sub(stepped.position, pose.position));
      pose = orbited(stepped, focus, up, w.yaw * part, w.pitch * part);
      pose = dollied(pose, focus, 2 ** (w.zoom * part), 0.01 * radius);
    } else {
      pose = turned(stepped, up, w.yaw * part, w.pitch * part);
      pose = flown(pose, [0, 0, -w.zoom * part * this.unitsPerSecond()]);
      focus = add(pose.position, scale(forward(pose), distance));
    }

    const rest = 1 - part;
    this.wanted = {
      yaw: w.yaw * rest, pitch: w.pitch * rest, zoom: w.zoom * rest,
      drag: [w.drag[0] * rest, w.drag[1] * rest], step: scale(w.step, rest),
    };
    this.viewpoint.move(pose, focus);
  }
}

function isSmall(w: Wanted, radius: number): boolean {
  const pixels = Math.hypot(...w.drag) + (Math.abs(w.yaw) + Math.abs(w.pitch) + Math.abs(w.zoom)) * 1000;
  return pixels < 0.3 && length(w.step) < 1e-4 * radius;
}

function angleBetween(from: number, to: number): number {
  return Math.atan2(Math.sin(to - from), Math.cos(to - from));
}
