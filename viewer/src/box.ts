// SPDX-License-Identifier: Apache-2.0
// A box that may be turned about its centre, as `stipple convert --crop` takes it.
import { aboutAxis, add, multiplied, rotated, scale, sub, unit, type Quaternion } from "./camera_math";
import type { Box, Vec3 } from "./protocol";

export interface TurnedBox {
  center: Vec3;
  half: Vec3; // half of the length of its edges
  rotation: Quaternion; // world_from_box
}

export const conjugate = (q: Quaternion): Quaternion => [q[0], -q[1], -q[2], -q[3]];

export function isTurned(box: TurnedBox): boolean {
  return Math.abs(box.rotation[0]) < 1 - 1e-12;
}

export function isInside(box: TurnedBox, p: Vec3): boolean {
  const inBox = rotated(conjugate(box.rotation), sub(p, box.center));
  return inBox.every((x, i) => Math.abs(x) <= box.half[i]);
}

// 6 numbers, or 10 if the box is turned.
export function boxNumbers(box: TurnedBox): Box {
  const numbers = [...sub(box.center, box.half), ...add(box.center, box.half)];
  return isTurned(box) ? [...numbers, ...box.rotation] : numbers;
}

// With so many digits that the box can be told from its neighbours, and no more.
export function boxText(box: TurnedBox): string {
  const numbers = boxNumbers(box);
  const size = Math.max(...box.half, 1e-9);
  const decimals = Math.min(12, Math.max(0, 4 - Math.floor(Math.log10(size))));
  return numbers.map((x, i) => String(Number(x.toFixed(i < 6 ? decimals : 6)))).join(",");
}

// The box of 6 or 10 numbers; null if they are none.
export function parseBox(text: string): TurnedBox | null {
  const n = text.trim().split(/[\s,]+/).map(Number);
  if ((n.length !== 6 && n.length !== 10) || !n.every(Number.isFinite)) return null;
  const low: Vec3 = [n[0], n[1], n[2]], high: Vec3 = [n[3], n[4], n[5]];
  if (low.some((x, i) => x > high[i])) return null;
  const rotation: Quaternion = n.length === 10 ? [n[6], n[7], n[8], n[9]] : [1, 0, 0, 0];
  if (Math.hypot(...rotation) < 1e-12) return null;
  return { center: scale(add(low, high), 0.5), half: scale(sub(high, low), 0.5), rotation: unit(rotation) };
}

// The corners; bit i of the index tells whether a corner is at the high end of axis i.
export function corners(box: TurnedBox): Vec3[] {
  return Array.from({ length: 8 }, (_, corner) =>
    add(box.center, rotated(box.rotation, box.half.map((h, i) => ((corner >> i) & 1 ? h : -h)) as Vec3)));
}

// The box after its face at the low (-1) or high (1) end of an axis has moved outwards; the opposite face stays.
export function withMovedFace(box: TurnedBox, axis: number, end: -1 | 1, by: number): TurnedBox {
  const smallest = 1e-3 * Math.max(...box.half);
  const grown = Math.max(by, 2 * (smallest - box.half[axis]));
  const half = box.half.map((h, i) => (i === axis ? h + grown / 2 : h)) as Vec3;
  const shift = [0, 1, 2].map((i) => (i === axis ? (end * grown) / 2 : 0)) as Vec3;
  return { ...box, half, center: add(box.center, rotated(box.rotation, shift)) };
}

// The angles in degrees of the turns about the axes x, y and z of the world, one after the other, that make a rotation.
export function angles(q: Quaternion): Vec3 {
  const [w, x, y, z] = q;
  const sine = Math.max(-1, Math.min(1, 2 * (w * y - x * z)));
  const degrees = 180 / Math.PI;
  if (Math.abs(sine) > 1 - 1e-9) return [2 * Math.atan2(x, w) * degrees, sine * 90, 0]; // x and z are one
  return [
    Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)) * degrees,
    Math.asin(sine) * degrees,
    Math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)) * degrees,
  ];
}

export function rotationOf(degrees: Vec3): Quaternion {
  const [x, y, z] = degrees.map((a) => (a * Math.PI) / 180);
  return unit(multiplied(aboutAxis([0, 0, 1], z), multiplied(aboutAxis([0, 1, 0], y), aboutAxis([1, 0, 0], x))));
}
