// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { aboutAxis } from "./camera_math";
import { crossing, surfaceDistance, type Ellipsoid, type Ray } from "./surface";

const kRay: Ray = { origin: [0, 0, 0], direction: [0, 0, 1] };
const ball = (z: number, opacity: number): Ellipsoid => ({
  center: [0, 0, z], scales: [0.1, 0.1, 0.1], rotation: [1, 0, 0, 0], opacity,
});

test("a ray beside a Gaussian sees less of it", () => {
  const g: Ellipsoid = { center: [0.3, 0, 5], scales: [0.2, 0.1, 0.4], rotation: [1, 0, 0, 0], opacity: 0.8 };
  const { distance, alpha } = crossing(kRay, g);
  assert(Math.abs(distance - 5) < 1e-9);
  assert(Math.abs(alpha - 0.8 * Math.exp(-0.5 * 1.5 ** 2)) < 1e-9);
});

test("a Gaussian is turned by its rotation", () => {
  const g: Ellipsoid = {
    center: [0, 0.3, 5], scales: [0.3, 0.01, 0.01], rotation: aboutAxis([0, 0, 1], Math.PI / 2), opacity: 1,
  };
  assert(Math.abs(crossing(kRay, g).alpha - Math.exp(-0.5)) < 1e-9);
});

test("the surface is where half of the light is stopped", () => {
  const crossings = [ball(9, 0.9), ball(2, 0.1), ball(4, 0.6)].map((g) => crossing(kRay, g));
  assert.equal(surfaceDistance(crossings), 4);
});

test("what is faint is no surface", () => {
  assert.equal(surfaceDistance([crossing(kRay, ball(3, 0.1))]), null);
  assert.equal(surfaceDistance([]), null);
});

test("no Gaussian hides everything", () => {
  assert.equal(crossing(kRay, ball(3, 1)).alpha, 0.99);
});
