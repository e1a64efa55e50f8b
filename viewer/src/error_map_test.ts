// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { errorMap } from "./error_map";

const pixel = (...rgb: number[]) => new Uint8ClampedArray([...rgb, 255]);

test("equal pixels are black, a quarter of difference is white", () => {
  assert.deepEqual([...errorMap(pixel(10, 20, 30), pixel(10, 20, 30))], [0, 0, 0, 255]);
  assert.deepEqual([...errorMap(pixel(0, 0, 0), pixel(64, 64, 64))], [255, 255, 255, 255]);
  assert.deepEqual([...errorMap(pixel(255, 0, 0), pixel(0, 0, 255))], [255, 255, 255, 255]);
});

test("between them lie the colours of the contact sheets", () => {
  // A mean difference of 16/255, times the gain of 4, is 64/255: just past the first of four pieces.
  const share = (16 * 4 * 4) / 255 - 1;
  const expected = [0.1, 0.1, 0.75].map((from, c) => Math.round(255 * (from * (1 - share) + [0.85, 0.1, 0.6][c] * share)));
  assert.deepEqual([...errorMap(pixel(100, 100, 100), pixel(116, 84, 116))], [...expected, 255]);
});
