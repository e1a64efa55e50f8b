// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { cameraFromWorld, lookAt } from "./camera_math";
import type { Camera } from "./protocol";
import { Viewpoint } from "./viewpoint";

// A browser whose frames come when the test says so.
const frames: FrameRequestCallback[] = [];
let timers: (() => void)[] = [];
Object.assign(globalThis, {
  window: { setTimeout: (run: () => void) => timers.push(run) },
  clearTimeout: () => (timers = []),
  matchMedia: () => ({ matches: false }),
  requestAnimationFrame: (frame: FrameRequestCallback) => frames.push(frame),
  cancelAnimationFrame: () => (frames.length = 0),
});
const runFrame = (time: number) => frames.shift()!(performance.now() + time);

const start: Camera = {
  width: 400, height: 300, fx: 300, fy: 300, cx: 200, cy: 150,
  camera_from_world: cameraFromWorld(lookAt([0, 0, -5], [0, 0, 0], [0, -1, 0])),
};
const photo: Camera = {
  width: 1000, height: 500, fx: 800, fy: 810, cx: 490, cy: 260,
  camera_from_world: cameraFromWorld(lookAt([4, 1, 2], [0, 0, 0], [0, -1, 0])),
};

function near(actual: number[], expected: number[]): void {
  actual.forEach((x, i) => assert(Math.abs(x - expected[i]) < 1e-9, `${actual} is not ${expected}`));
}

test("a flight through a camera ends with exactly that camera, at the size of the picture", () => {
  const viewpoint = new Viewpoint(start, [0, 0, 0]);
  viewpoint.flyThrough(3, photo, [0, 0, 0], 40);
  runFrame(100);
  assert(viewpoint.isFlying && viewpoint.isMoving);
  assert.equal(viewpoint.through, null);
  runFrame(10_000);
  assert.equal(frames.length, 0);
  assert(!viewpoint.isFlying);
  assert.equal(viewpoint.through?.index, 3);
  const half = viewpoint.cameraFor(500, 250);
  near([half.fx, half.fy, half.cx, half.cy], [400, 405, 245, 130]);
  half.camera_from_world.forEach((row, i) => near(row, photo.camera_from_world[i]));
});

test("a movement by hand ends a flight, and leaves the lens of a camera", () => {
  const viewpoint = new Viewpoint(start, [0, 0, 0]);
  viewpoint.flyThrough(3, photo, [0, 0, 0], 40);
  runFrame(100);
  viewpoint.move(viewpoint.pose);
  assert.equal(frames.length, 0);
  assert(!viewpoint.isFlying && viewpoint.through === null);
});

test("who stands still is told so once", () => {
  const viewpoint = new Viewpoint(start, [0, 0, 0]);
  const told: boolean[] = [];
  viewpoint.onChange(({ isMoving }) => told.push(isMoving));
  viewpoint.move(viewpoint.pose);
  viewpoint.move(viewpoint.pose);
  for (const run of timers.splice(0)) run();
  assert.deepEqual(told, [true, true, false]);
});

test("the free lens keeps the vertical field of view at any size", () => {
  const viewpoint = new Viewpoint(start, [0, 0, 0]);
  const camera = viewpoint.cameraFor(1600, 600);
  near([camera.fx, camera.fy, camera.cx, camera.cy], [600, 600, 800, 300]);
});
