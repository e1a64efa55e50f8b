// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { angles, boxText, corners, isInside, parseBox, rotationOf, withMovedFace, type TurnedBox } from "./box";
import { aboutAxis, length, rotated, sub } from "./camera_math";

const kBox: TurnedBox = { center: [1, 2, 3], half: [0.5, 1, 2], rotation: [1, 0, 0, 0] };
const kTurned: TurnedBox = { ...kBox, rotation: aboutAxis([0, 0, 1], Math.PI / 2) };

test("a box is written and read", () => {
  assert.equal(boxText(kBox), "0.5,1,1,1.5,3,5");
  assert.deepEqual(parseBox("0.5,1,1, 1.5 3,5"), kBox);
  const read = parseBox(boxText(kTurned))!;
  assert(length(sub(read.center, kTurned.center)) < 1e-5);
  assert(Math.abs(read.rotation[3] - Math.SQRT1_2) < 1e-6);
});

test("what is no box is refused", () => {
  for (const text of ["", "1,2,3,4,5", "1,2,3,0,5,6", "1,2,3,4,5,x", "0,0,0,1,1,1,0,0,0,0"]) {
    assert.equal(parseBox(text), null, text);
  }
});

test("a turned box contains what it contains before, turned", () => {
  assert(isInside(kBox, [1.4, 2, 3]) && !isInside(kBox, [1.6, 2, 3]));
  assert(isInside(kTurned, [1.9, 2, 3]) && !isInside(kTurned, [1, 2.6, 3]));
  for (const corner of corners(kTurned)) {
    assert(isInside({ ...kTurned, half: [0.501, 1.001, 2.001] }, corner));
    assert(!isInside({ ...kTurned, half: [0.499, 0.999, 1.999] }, corner));
  }
});

test("a face moves and the opposite one stays", () => {
  const grown = withMovedFace(kTurned, 0, 1, 0.4); // x of the box is y of the world
  assert(length(sub(grown.center, [1, 2.2, 3])) < 1e-12);
  assert(Math.abs(grown.half[0] - 0.7) < 1e-12);
  const shrunk = withMovedFace(kBox, 2, -1, -100);
  assert(shrunk.half[2] > 0 && Math.abs(shrunk.center[2] + shrunk.half[2] - 5) < 1e-9, "not beyond the other face");
});

test("angles and back", () => {
  for (const wanted of [[10, 20, 30], [-170, 60, 100], [0, 0, 0], [25, 90, 0], [25, -90, 0]] as [number, number, number][]) {
    const found = angles(rotationOf(wanted));
    assert(length(sub(found, wanted)) < 1e-4, `${wanted}: ${found}`);
  }
  const turnedX = rotated(rotationOf([0, 0, 90]), [1, 0, 0]);
  assert(length(sub(turnedX, [0, 1, 0])) < 1e-12);
});
