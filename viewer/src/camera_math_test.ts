// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  aboutAxis, cameraFromWorld, down, forward, fromAxes, inCamera, length, lookAt, multiplied, onPicture, poseOf,
  rayThrough, resized, right, rotated, slerp, sub, unit, type Quaternion,
} from "./camera_math";
import type { Camera, Vec3 } from "./protocol";

const rotations: Quaternion[] = [
  [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1], unit([0.1, 0.9, -0.2, 0.3]), unit([0.1, 0.2, -0.9, 0.3]),
  unit([0.1, 0.2, -0.3, 0.9]), unit([0.8, 0.2, -0.3, 0.1]),
];

function near(actual: readonly number[], expected: readonly number[], tolerance = 1e-9): void {
  assert.equal(actual.length, expected.length);
  actual.forEach((x, i) => assert(Math.abs(x - expected[i]) <= tolerance, `${actual} is not ${expected}`));
}

function cameraAt(position: Vec3, target: Vec3): Camera {
  return {
    width: 640, height: 480, fx: 500, fy: 510, cx: 310, cy: 250,
    camera_from_world: cameraFromWorld(lookAt(position, target, [0, 0, 1])),
  };
}

test("a rotation is found again from its axes, up to its sign", () => {
  for (const q of rotations) {
    const found = fromAxes(rotated(q, [1, 0, 0]), rotated(q, [0, 1, 0]), rotated(q, [0, 0, 1]));
    const sign = Math.sign(found.reduce((sum, x, i) => sum + x * q[i], 0));
    near(found.map((x) => x * sign), q);
  }
});

test("rotations are applied from right to left", () => {
  const quarter = aboutAxis([0, 0, 1], Math.PI / 2);
  near(rotated(quarter, [1, 0, 0]), [0, 1, 0]);
  const both = multiplied(aboutAxis([1, 0, 0], Math.PI / 2), quarter);
  near(rotated(both, [1, 0, 0]), [0, 0, 1]);
});

test("a camera that looks at a point sees it in the middle, and up is up", () => {
  const pose = lookAt([4, -3, 2], [0, 0, 0], [0, 0, 1]);
  near(forward(pose), [-4, 3, -2].map((x) => x / length([4, -3, 2])));
  assert(down(pose)[2] < 0);
  near([right(pose)[2]], [0]);
  const camera = cameraAt([4, -3, 2], [0, 0, 0]);
  near(onPicture(camera, inCamera(camera, [0, 0, 0])), [camera.cx, camera.cy]);
});

test("looking straight down still gives a rotation", () => {
  const pose = lookAt([0, 0, 5], [0, 0, 0], [0, 0, 1]);
  near(forward(pose), [0, 0, -1]);
  assert.equal(Math.round(Math.hypot(...pose.rotation) * 1e9), 1e9);
});

test("the pose of a camera gives the same matrix", () => {
  const camera = cameraAt([1, 2, 3], [0.5, -1, 0]);
  const pose = poseOf(camera);
  near(pose.position, [1, 2, 3]);
  cameraFromWorld(pose).forEach((row, i) => near(row, camera.camera_from_world[i]));
});

test("a ray through the projection of a point meets the point, at any size of the picture", () => {
  const camera = cameraAt([1, 2, 3], [0.5, -1, 0]);
  const point: Vec3 = [0.3, -0.7, 0.4];
  for (const c of [camera, resized(camera, 100, 300)]) {
    const [x, y] = onPicture(c, inCamera(c, point));
    const offset = sub(point, [1, 2, 3]);
    near(rayThrough(c, x, y), offset.map((v) => v / length(offset)));
  }
});

test("half way between two rotations is the shorter way", () => {
  const from = aboutAxis([0, 1, 0], 0.2), to = aboutAxis([0, 1, 0], 1);
  near(slerp(from, to, 0.5), aboutAxis([0, 1, 0], 0.6));
  near(slerp(from, to.map((x) => -x) as Quaternion, 0.5), aboutAxis([0, 1, 0], 0.6));
  near(slerp(from, from, 0.5), from);
});
