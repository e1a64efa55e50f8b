// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { kNoLevel, planLevels, sizeOnScreen, type Leaf } from "./lod_plan";
import type { Camera, Vec3 } from "./protocol";

const kCamera: Camera = { // at the origin, looking along z
  width: 1000, height: 1000, fx: 1000, fy: 1000, cx: 500, cy: 500,
  camera_from_world: [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
};

const leafAt = (x: number, y: number, z: number, counts = [10_000, 1000, 100]): Leaf => ({
  min: [x - 1, y - 1, z - 1], max: [x + 1, y + 1, z + 1] as Vec3,
  levels: counts.map((count, level) => ({ level, count, url: "" })),
});

test("near leaves are refined before far ones, within the budget", () => {
  const leaves = [leafAt(0, 0, 40), leafAt(0, 0, 5)];
  assert.deepEqual(planLevels(leaves, kCamera, 10_200), [2, 0]);
  assert.deepEqual(planLevels(leaves, kCamera, 1500), [2, 1]);
  assert.deepEqual(planLevels(leaves, kCamera, 200), [2, 2]);
});

test("what is in the picture is refined before what is not", () => {
  assert.deepEqual(planLevels([leafAt(0, 0, -8), leafAt(0, 0, 8)], kCamera, 10_200), [2, 0]);
  assert.deepEqual(planLevels([leafAt(20, 0, 8), leafAt(0, 0, 21)], kCamera, 1200), [2, 1]);
});

test("a leaf so far that more Gaussians would not be seen stays coarse", () => {
  assert.deepEqual(planLevels([leafAt(0, 0, 400)], kCamera, 1e6), [2]);
});

test("with too little room for all, the smallest on the screen are left out", () => {
  const leaves = [leafAt(0, 0, 30), leafAt(0, 0, 5), leafAt(0, 0, 10)];
  assert.deepEqual(planLevels(leaves, kCamera, 250), [kNoLevel, 2, 2]);
});

test("a leaf on the edge of the picture is in view", () => {
  const inView = sizeOnScreen(leafAt(0, 0, 10), kCamera);
  assert(sizeOnScreen(leafAt(6, 0, 10), kCamera) > 0.5 * inView);
  assert(sizeOnScreen(leafAt(0, -6, 10), kCamera) > 0.5 * inView);
  assert(sizeOnScreen(leafAt(9, 0, 10), kCamera) < 0.2 * inView);
});
