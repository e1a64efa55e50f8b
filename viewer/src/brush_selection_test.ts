// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { under } from "./brush_selection";
import type { Camera, Vec3 } from "./protocol";

const kCamera: Camera = {
  width: 200, height: 100, fx: 100, fy: 100, cx: 100, cy: 50,
  camera_from_world: [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 2]],
};

const model = (points: Vec3[]) => ({
  forEachPosition: (visit: (i: number, x: number, y: number, z: number) => void) =>
    points.forEach((p, i) => visit(i, ...p)),
});

const anywhere = { from: [100, 50] as [number, number], to: [100, 50] as [number, number], radius: 10, deepest: Infinity };

test("a dab touches what is under it, at any depth", () => {
  const points: Vec3[] = [[0, 0, 0], [0.3, 0, 0], [0.3, 0, 8], [0, -0.19, 0], [0, 0, -3]];
  assert.deepEqual(under(anywhere, kCamera, model(points)), [0, 2, 3]); // the last is behind the camera
});

test("what is too deep is not touched", () => {
  assert.deepEqual(under({ ...anywhere, deepest: 5 }, kCamera, model([[0, 0, 2], [0, 0, 4]])), [0]);
});

test("a stroke touches what is between its ends", () => {
  const stroke = { ...anywhere, to: [150, 50] as [number, number] };
  assert.deepEqual(under(stroke, kCamera, model([[0.5, 0, 0], [1.1, 0, 0], [1.3, 0, 0], [0.5, 0.3, 0]])), [0, 1]);
});
