// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Flight, parsePath, pathText } from "./camera_path";
import type { Camera } from "./protocol";

// The tests run from a bundle elsewhere, so test.mjs tells where the repository is.
declare const process: { env: Record<string, string> };
const data = (name: string): string => readFileSync(`${process.env.STIPPLE_SOURCE}/tests/data/path/${name}`, "utf8");

function numbersOf(camera: Camera): number[] {
  const { width, height, fx, fy, cx, cy, camera_from_world } = camera;
  return [width, height, fx, fy, cx, cy, ...camera_from_world.flat()];
}

for (const name of ["flight", "loop"]) {
  test(`${name}.json gives the frames that stipple render draws`, () => {
    const path = parsePath(data(`${name}.json`));
    const expected = JSON.parse(data(`${name}_frames.json`)) as Camera[];
    const flight = new Flight(path);
    const count = Math.round(flight.duration * path.fps);
    assert.equal(expected.length, path.closed ? count : count + 1);
    expected.forEach((camera, i) => {
      const found = numbersOf(flight.at((flight.duration * i) / count));
      numbersOf(camera).forEach((x, k) =>
        assert(Math.abs(found[k] - x) < 1e-6 * Math.max(1, Math.abs(x)), `frame ${i}, number ${k}: ${found[k]} and ${x}`));
    });
  });

  test(`${name}.json is the same after reading and writing`, () => {
    const text = pathText(parsePath(data(`${name}.json`)));
    assert.equal(pathText(parsePath(text)), text);
    assert.equal(JSON.parse(text).keyframes.length, JSON.parse(data(`${name}.json`)).keyframes.length);
  });
}

test("what is no path is refused with a reason", () => {
  const camera = '{"width": 2, "height": 2, "fx": 1, "fy": 1, "camera_from_world": [[1,0,0,0],[0,1,0,0],[0,0,1,0]]}';
  const path = (frames: string, more = "") => `{"stipple_path": 1${more}, "keyframes": [${frames}]}`;
  parsePath(path(`{"time": 0, "camera": ${camera}}`));
  for (const [text, reason] of [
    ["{}", /no camera path/],
    [path(""), /no key frames/],
    [path(`{"camera": ${camera}}`), /frame 1 has no time/],
    [path('{"time": 0, "camera": {"width": 2}}'), /frame 1 has no camera/],
    [path(`{"time": 1, "camera": ${camera}}, {"time": 1, "camera": ${camera}}`), /frame 2 is not later/],
    [path(`{"time": 1, "camera": ${camera}}`, ', "fps": 0'), /fps/],
  ] as [string, RegExp][]) assert.throws(() => parsePath(text), reason);
});
