// SPDX-License-Identifier: Apache-2.0
// Camera paths through key frames: their file, and the cameras in between (docs/formats.md, "Camera paths").
import { cameraFromWorld, fromAxes, length, sub, unit, type Quaternion } from "./camera_math";
import type { Camera, Vec3 } from "./protocol";

export interface KeyFrame {
  time: number; // seconds
  camera: Camera;
}

export interface CameraPath {
  fps: number;
  closed: boolean;
  duration: number | null; // of a closed path; null means the mean time between key frames for the way back
  keyframes: KeyFrame[];
}

export const kLeastStep = 0.001; // seconds between two key frames

type Key = number[]; // position 3, quaternion 4, ln fx, ln fy, centre 2

const kLeastTravel = 1e-6;

export function pathText(path: CameraPath): string {
  const keyframes = path.keyframes.map((k) => "  " + JSON.stringify({ time: k.time, camera: k.camera }));
  const head = { stipple_path: 1, fps: path.fps, closed: path.closed };
  const text = JSON.stringify(path.duration === null ? head : { ...head, duration: path.duration });
  return `${text.slice(0, -1)}, "keyframes": [\n${keyframes.join(",\n")}\n]}\n`;
}

// Throws an error that says what is wrong with the text.
export function parsePath(text: string): CameraPath {
  const json = JSON.parse(text) as Record<string, unknown>;
  if (json?.stipple_path !== 1) throw new Error('it is no camera path: it has no "stipple_path": 1');
  const frames = json.keyframes;
  if (!Array.isArray(frames) || frames.length === 0) throw new Error("it has no key frames");
  const keyframes = frames.map((frame, i): KeyFrame => {
    const { time, camera } = (frame ?? {}) as { time: unknown; camera: unknown };
    if (!isNumber(time)) throw new Error(`key frame ${i + 1} has no time`);
    const read = readCamera(camera);
    if (!read) throw new Error(`key frame ${i + 1} has no camera with width, height, fx, fy and camera_from_world`);
    return { time, camera: read };
  });
  for (let i = 1; i < keyframes.length; ++i) {
    if (keyframes[i].time - keyframes[i - 1].time < kLeastStep * (1 - 1e-9)) {
      throw new Error(`key frame ${i + 1} is not later than the one before`);
    }
  }
  const { fps = 30, closed = false, duration = null } = json;
  if (!isNumber(fps) || fps < 0.1 || fps > 240) throw new Error("fps must be from 0.1 to 240");
  if (typeof closed !== "boolean") throw new Error("closed must be true or false");
  if (duration !== null && !isNumber(duration)) throw new Error("duration must be a number");
  return { fps, closed, duration: closed ? duration : null, keyframes };
}

const isNumber = (value: unknown): value is number => typeof value === "number" && Number.isFinite(value);

function readCamera(value: unknown): Camera | null {
  const { width, height, fx, fy, cx, cy, camera_from_world: rows } = (value ?? {}) as Record<string, unknown>;
  if (![width, height, fx, fy].every((x) => isNumber(x) && x > 0)) return null;
  if (!Array.isArray(rows) || rows.length < 3) return null;
  if (!rows.every((row) => Array.isArray(row) && row.length === 4 && row.every(isNumber))) return null;
  const [w, h] = [width as number, height as number];
  return {
    width: w, height: h, fx: fx as number, fy: fy as number,
    cx: isNumber(cx) ? cx : w / 2, cy: isNumber(cy) ? cy : h / 2, camera_from_world: rows.slice(0, 3) as number[][],
  };
}

// The cameras of a path at any time.
export class Flight {
  readonly duration: number; // seconds
  readonly start: number; // the time of the first key frame
  private readonly width: number;
  private readonly height: number;
  private readonly keys: Key[];
  private readonly times: number[]; // one more than keys if the path is closed
  private readonly knots: number[]; // as many
  private readonly slopes: number[]; // of the knots over time, as many

  constructor(private readonly path: CameraPath) {
    const { keyframes, closed } = path;
    const n = keyframes.length, first = keyframes[0].camera;
    this.width = even(first.width);
    this.height = even(first.height);
    this.keys = [];
    for (const { camera } of keyframes) {
      this.keys.push(withSign(keyOf(camera, this.width, this.height), this.keys[this.keys.length - 1]));
    }
    this.spread = spreadOf(this.keys);
    this.times = keyframes.map((k) => k.time);
    this.start = this.times[0];
    if (closed) this.times.push(this.start + closedDuration(path));
    this.duration = this.times[this.times.length - 1] - this.start;

    this.knots = [0];
    for (let i = 0; i + 1 < this.times.length; ++i) {
      this.knots.push(this.knots[i] + this.distance(this.keys[i], this.keys[(i + 1) % n]));
    }
    this.slopes = slopesOf(this.times, this.knots, closed);
  }
  private readonly spread: number; // of the positions

  // The camera so many seconds after the first key frame.
  at(seconds: number): Camera {
    if (this.times.length < 2) return this.cameraOf(this.keys[0]);
    let t = this.path.closed ? seconds - Math.floor(seconds / this.duration) * this.duration : seconds;
    t = this.start + Math.min(this.duration, Math.max(0, t));
    let i = 0;
    while (i + 2 < this.times.length && t >= this.times[i + 1]) ++i;
    const span = this.knots[i + 1] - this.knots[i];
    const part = Math.min(1, Math.max(0, (this.knotAt(i, t) - this.knots[i]) / span));
    return this.cameraOf(this.between(i, part));
  }

  private knotAt(i: number, t: number): number {
    const h = this.times[i + 1] - this.times[i], s = (t - this.times[i]) / h;
    const s2 = s * s, s3 = s2 * s;
    return (
      (2 * s3 - 3 * s2 + 1) * this.knots[i] + (s3 - 2 * s2 + s) * h * this.slopes[i] +
      (3 * s2 - 2 * s3) * this.knots[i + 1] + (s3 - s2) * h * this.slopes[i + 1]);
  }

  // The key at this part of the way from key i to the next.
  private between(i: number, part: number): Key {
    const p: Key[] = [];
    for (let j = -1; j <= 2; ++j) p.push(withSign(this.key(i + j), p[p.length - 1]));
    const v = [0];
    for (let j = 0; j < 3; ++j) v.push(v[j] + this.distance(p[j], p[j + 1]));
    const at = v[1] + part * (v[2] - v[1]);
    const line = (a: Key, x: number, b: Key, y: number): Key =>
      a.map((value, k) => ((y - at) * value + (at - x) * b[k]) / (y - x));
    const A = [0, 1, 2].map((j) => line(p[j], v[j], p[j + 1], v[j + 1]));
    const B = [0, 1].map((j) => line(A[j], v[j], A[j + 1], v[j + 2]));
    return line(B[0], v[1], B[1], v[2]);
  }

  // Keys beyond the ends of an open path continue it in a straight line.
  private key(i: number): Key {
    const { keys } = this, n = keys.length;
    if (this.path.closed) return keys[(i + n) % n];
    const beyond = (end: Key, inner: Key): Key => end.map((x, k) => 2 * x - withSign(inner, end)[k]);
    if (i < 0) return beyond(keys[0], keys[1]);
    if (i >= n) return beyond(keys[n - 1], keys[n - 2]);
    return keys[i];
  }

  private distance(a: Key, b: Key): number {
    const qa = quaternionOf(a), qb = quaternionOf(b);
    const turned = Math.min(
      Math.hypot(...qa.map((x, i) => x - qb[i])), Math.hypot(...qa.map((x, i) => x + qb[i])));
    const travel =
      length(sub(positionOf(a), positionOf(b))) / this.spread + 2 * turned + Math.hypot(a[7] - b[7], a[8] - b[8]);
    return Math.sqrt(Math.max(travel, kLeastTravel));
  }

  private cameraOf(key: Key): Camera {
    // The key has the rotation of camera_from_world; a pose has its inverse.
    const [w, x, y, z] = quaternionOf(key);
    const pose = { position: positionOf(key), rotation: [w, -x, -y, -z] as Quaternion };
    return {
      width: this.width, height: this.height, fx: Math.exp(key[7]), fy: Math.exp(key[8]), cx: key[9], cy: key[10],
      camera_from_world: cameraFromWorld(pose),
    };
  }
}

export function closedDuration(path: CameraPath): number {
  if (path.duration !== null) return path.duration;
  const times = path.keyframes.map((k) => k.time), n = times.length;
  const lasted = times[n - 1] - times[0];
  return n === 1 ? 1 : lasted + lasted / (n - 1);
}

const even = (size: number): number => Math.max(2, 2 * Math.floor(size / 2));
const positionOf = (key: Key): Vec3 => [key[0], key[1], key[2]];
const quaternionOf = (key: Key): Quaternion => unit([key[3], key[4], key[5], key[6]]);

function keyOf(camera: Camera, width: number, height: number): Key {
  const m = Math.max(width / camera.width, height / camera.height);
  const rows = camera.camera_from_world;
  const column = (i: number): Vec3 => [rows[0][i], rows[1][i], rows[2][i]];
  const position = [0, 1, 2].map((i) => -(rows[0][i] * rows[0][3] + rows[1][i] * rows[1][3] + rows[2][i] * rows[2][3]));
  return [
    ...position, ...fromAxes(column(0), column(1), column(2)), Math.log(camera.fx * m), Math.log(camera.fy * m),
    width / 2 + m * (camera.cx - camera.width / 2), height / 2 + m * (camera.cy - camera.height / 2),
  ];
}

// The same key with the one of two equivalent quaternions that is nearer to that of `before`.
function withSign(key: Key, before: Key | undefined): Key {
  if (!before) return key;
  const dot = [3, 4, 5, 6].reduce((sum, i) => sum + key[i] * before[i], 0);
  return dot < 0 ? key.map((x, i) => (i >= 3 && i < 7 ? -x : x)) : key;
}

function spreadOf(keys: Key[]): number {
  const mean = [0, 1, 2].map((i) => keys.reduce((sum, key) => sum + key[i], 0) / keys.length) as Vec3;
  return Math.max(...keys.map((key) => length(sub(positionOf(key), mean)))) || 1;
}

// Of a monotone cubic through the knots (Fritsch and Butland).
function slopesOf(times: number[], knots: number[], closed: boolean): number[] {
  const segments = times.length - 1;
  const h = (i: number) => times[i + 1] - times[i];
  const e = (i: number) => (knots[i + 1] - knots[i]) / h(i);
  return times.map((_, i) => {
    if (segments === 0) return 0;
    if (!closed && i === 0) return e(0);
    if (!closed && i === segments) return e(segments - 1);
    const before = (i + segments - 1) % segments, after = i % segments;
    const [hb, ha] = [h(before), h(after)];
    return (3 * (hb + ha)) / ((2 * ha + hb) / e(before) + (ha + 2 * hb) / e(after));
  });
}
