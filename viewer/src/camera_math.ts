// SPDX-License-Identifier: Apache-2.0
// Poses and cameras: x right, y down, z forward (docs/conventions.md).
import type { Camera, Vec3 } from "./protocol";

export type Quaternion = [number, number, number, number]; // w, x, y, z; of unit length

export interface Pose {
  position: Vec3; // of the camera, in the world
  rotation: Quaternion; // world_from_camera
}

export const add = (a: Vec3, b: Vec3): Vec3 => [a[0] + b[0], a[1] + b[1], a[2] + b[2]];
export const sub = (a: Vec3, b: Vec3): Vec3 => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
export const scale = (a: Vec3, s: number): Vec3 => [a[0] * s, a[1] * s, a[2] * s];
export const dot = (a: Vec3, b: Vec3): number => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
export const length = (a: Vec3): number => Math.hypot(a[0], a[1], a[2]);
export const cross = (a: Vec3, b: Vec3): Vec3 => [
  a[1] * b[2] - a[2] * b[1],
  a[2] * b[0] - a[0] * b[2],
  a[0] * b[1] - a[1] * b[0],
];
export const mix = (a: Vec3, b: Vec3, t: number): Vec3 => add(scale(a, 1 - t), scale(b, t));

// A zero vector stays one.
export function normalized(a: Vec3): Vec3 {
  const l = length(a);
  return l > 0 ? scale(a, 1 / l) : a;
}

export function multiplied(a: Quaternion, b: Quaternion): Quaternion {
  return [
    a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
    a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
    a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
    a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
  ];
}

export function unit(q: Quaternion): Quaternion {
  const l = Math.hypot(...q);
  return [q[0] / l, q[1] / l, q[2] / l, q[3] / l];
}

export function aboutAxis(axis: Vec3, radians: number): Quaternion {
  const a = scale(normalized(axis), Math.sin(radians / 2));
  return [Math.cos(radians / 2), a[0], a[1], a[2]];
}

export function rotated(q: Quaternion, v: Vec3): Vec3 {
  const u: Vec3 = [q[1], q[2], q[3]];
  const t = scale(cross(u, v), 2);
  return add(add(v, scale(t, q[0])), cross(u, t));
}

// The rotation whose matrix has these columns, which are orthonormal and right-handed.
export function fromAxes(x: Vec3, y: Vec3, z: Vec3): Quaternion {
  const trace = x[0] + y[1] + z[2];
  // Divide by the largest of the four components, which is at least 1/2.
  if (trace > 0) {
    const s = 2 * Math.sqrt(1 + trace);
    return unit([s / 4, (y[2] - z[1]) / s, (z[0] - x[2]) / s, (x[1] - y[0]) / s]);
  }
  if (x[0] >= y[1] && x[0] >= z[2]) {
    const s = 2 * Math.sqrt(1 + x[0] - y[1] - z[2]);
    return unit([(y[2] - z[1]) / s, s / 4, (x[1] + y[0]) / s, (z[0] + x[2]) / s]);
  }
  if (y[1] >= z[2]) {
    const s = 2 * Math.sqrt(1 - x[0] + y[1] - z[2]);
    return unit([(z[0] - x[2]) / s, (x[1] + y[0]) / s, s / 4, (y[2] + z[1]) / s]);
  }
  const s = 2 * Math.sqrt(1 - x[0] - y[1] + z[2]);
  return unit([(x[1] - y[0]) / s, (z[0] + x[2]) / s, (y[2] + z[1]) / s, s / 4]);
}

export const right = (pose: Pose): Vec3 => rotated(pose.rotation, [1, 0, 0]);
export const down = (pose: Pose): Vec3 => rotated(pose.rotation, [0, 1, 0]);
export const forward = (pose: Pose): Vec3 => rotated(pose.rotation, [0, 0, 1]);

// The pose at `position` that looks at `target`, with the top of the picture towards `up`.
export function lookAt(position: Vec3, target: Vec3, up: Vec3): Pose {
  const z = normalized(sub(target, position));
  let x = cross(z, up);
  if (length(x) < 1e-6) x = cross(z, Math.abs(z[0]) < 0.9 ? [1, 0, 0] : [0, 1, 0]); // straight up or down
  x = normalized(x);
  return { position, rotation: fromAxes(x, cross(z, x), z) };
}

export function poseOf(camera: Camera): Pose {
  const m = camera.camera_from_world;
  const row = (i: number): Vec3 => [m[i][0], m[i][1], m[i][2]];
  // The rows of camera_from_world are the camera's axes in the world.
  const rotation = fromAxes(row(0), row(1), row(2));
  const position = scale(rotated(rotation, [m[0][3], m[1][3], m[2][3]]), -1);
  return { position, rotation };
}

export function cameraFromWorld(pose: Pose): number[][] {
  return [right(pose), down(pose), forward(pose)].map((axis) => [...axis, -dot(axis, pose.position)]);
}

// Between two rotations by the shorter way, at constant speed.
export function slerp(a: Quaternion, b: Quaternion, t: number): Quaternion {
  let cosine = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
  const sign = cosine < 0 ? -1 : 1;
  cosine = Math.min(1, cosine * sign);
  const angle = Math.acos(cosine);
  const [u, v] = angle < 1e-4 ? [1 - t, t] : [Math.sin((1 - t) * angle), Math.sin(t * angle)];
  return unit([0, 1, 2, 3].map((i) => u * a[i] + sign * v * b[i]) as Quaternion);
}

// The camera of a picture of another size with the same content, stretched where the aspect differs.
export function resized(camera: Camera, width: number, height: number): Camera {
  const sx = width / camera.width, sy = height / camera.height;
  return {
    ...camera, width, height,
    fx: camera.fx * sx, fy: camera.fy * sy, cx: camera.cx * sx, cy: camera.cy * sy,
  };
}

// Where a point is in the camera's frame; its z is the depth.
export function inCamera(camera: Camera, p: Vec3): Vec3 {
  return camera.camera_from_world.map((r) => r[0] * p[0] + r[1] * p[1] + r[2] * p[2] + r[3]) as Vec3;
}

export function onPicture(camera: Camera, inCamera: Vec3): [number, number] {
  return [
    (camera.fx * inCamera[0]) / inCamera[2] + camera.cx,
    (camera.fy * inCamera[1]) / inCamera[2] + camera.cy,
  ];
}

// The direction in the world, of unit length, in which the camera sees this place of its picture.
export function rayThrough(camera: Camera, x: number, y: number): Vec3 {
  const d: Vec3 = [(x - camera.cx) / camera.fx, (y - camera.cy) / camera.fy, 1];
  const m = camera.camera_from_world;
  return normalized([0, 1, 2].map((i) => m[0][i] * d[0] + m[1][i] * d[1] + m[2][i] * d[2]) as Vec3);
}
