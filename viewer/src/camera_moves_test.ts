// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { add, dot, down, forward, length, lookAt, right, scale, sub, type Pose } from "./camera_math";
import { dollied, flown, focusDepth, orbited, turned, walked } from "./camera_moves";
import type { Vec3 } from "./protocol";

const kUp: Vec3 = [0, -1, 0];
const kFocus: Vec3 = [1, 2, 3];

const start = (): Pose => lookAt([1, 1, -4], kFocus, kUp);

function near(a: Vec3, b: Vec3, what: string): void {
  assert(length(sub(a, b)) < 1e-9, `${what}: ${a} and ${b}`);
}

test("an orbit keeps the distance and looks at the focus", () => {
  const pose = orbited(start(), kFocus, kUp, 0.7, -0.3);
  assert(Math.abs(length(sub(pose.position, kFocus)) - length(sub(start().position, kFocus))) < 1e-9);
  near(forward(pose), scale(sub(kFocus, pose.position), 1 / length(sub(kFocus, pose.position))), "direction");
  assert(Math.abs(dot(right(pose), kUp)) < 1e-9, "the horizon stays level");
});

test("a yaw to the right turns the view to the right, and a pitch turns it up", () => {
  const level = lookAt([0, 0, 0], [0, 0, 1], kUp);
  near(forward(turned(level, kUp, Math.PI / 2, 0)), [1, 0, 0], "yaw");
  assert(dot(forward(turned(level, kUp, 0, 0.5)), kUp) > 0.4);
  near(turned(level, kUp, 1, 1).position, level.position, "position");
});

test("yaw and pitch in many parts end where they do in one", () => {
  let parts = start();
  for (let i = 0; i < 100; ++i) parts = orbited(parts, kFocus, kUp, 0.012, -0.004);
  const once = orbited(start(), kFocus, kUp, 1.2, -0.4);
  near(parts.position, once.position, "position");
  near(down(parts), down(once), "down");
});

test("the view does not pass the zenith", () => {
  let pose = start();
  for (let i = 0; i < 50; ++i) pose = turned(pose, kUp, 0.1, 0.2);
  const elevation = Math.asin(dot(forward(pose), kUp));
  assert(elevation > 1.5 && elevation < Math.PI / 2);
  assert(dot(down(pose), kUp) < 0, "not upside down");
});

test("a view straight down can be turned up again", () => {
  const pose = turned(lookAt([0, -5, 0], [0, 0, 0], kUp), kUp, 0, 0.5);
  assert(dot(forward(pose), kUp) > -0.9);
});

test("someone who walks stays on the same level, and looks down without walking into the ground", () => {
  const looking = turned(start(), kUp, 0, -1.2);
  const pose = walked(looking, kUp, [0, 0, 2]);
  assert(Math.abs(dot(sub(pose.position, looking.position), kUp)) < 1e-9);
  assert(Math.abs(length(sub(pose.position, looking.position)) - 2) < 1e-9);
  const aside = walked(looking, kUp, [1, 0, 0]);
  near(sub(aside.position, looking.position), right(looking), "to the right");
  near(walked(looking, kUp, [0, 1, 0]).position, sub(looking.position, kUp), "down");
});

test("a step along the camera's axes", () => {
  const pose = flown(start(), [1, 2, 3]);
  const expected = add(add(right(start()), scale(down(start()), 2)), scale(forward(start()), 3));
  near(sub(pose.position, start().position), expected, "step");
});

test("going nearer ends before the focus", () => {
  let pose = start();
  pose = dollied(pose, kFocus, 0.5, 0.1);
  assert(Math.abs(focusDepth(pose, kFocus) - focusDepth(start(), kFocus) / 2) < 1e-9);
  for (let i = 0; i < 20; ++i) pose = dollied(pose, kFocus, 0.5, 0.1);
  assert(Math.abs(focusDepth(pose, kFocus) - 0.1) < 1e-9);
  near(forward(pose), forward(start()), "direction");
});
