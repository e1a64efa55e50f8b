// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { append, logTicks, thinned, ticks } from "./history";

test("a point with a smaller step replaces those at and behind it", () => {
  const all: { step: number; loss: number }[] = [];
  append(all, [{ step: 100, loss: 3 }, { step: 200, loss: 2 }, { step: 300, loss: 1 }]);
  append(all, [{ step: 200, loss: 5 }, { step: 250, loss: 4 }]);
  assert.deepEqual(all, [{ step: 100, loss: 3 }, { step: 200, loss: 5 }, { step: 250, loss: 4 }]);
});

test("ticks are round numbers within the range", () => {
  assert.deepEqual(ticks(0, 30000, 4), [0, 10000, 20000, 30000]);
  assert.deepEqual(ticks(13.2, 28.9, 4), [15, 20, 25]);
  assert.deepEqual(ticks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(ticks(-0.1, 0.1, 4), [-0.1, -0.05, 0, 0.05, 0.1]);
  assert.deepEqual(ticks(5, 5, 4), []);
});

test("ticks of a logarithmic axis are fewer over many powers of ten", () => {
  assert.deepEqual(logTicks(0.015, 0.3), [0.02, 0.05, 0.1, 0.2]);
  assert.deepEqual(logTicks(1e-4, 10), [1e-4, 1e-3, 1e-2, 0.1, 1, 10]);
});

test("many points become means of stretches", () => {
  const points = Array.from({ length: 1000 }, (_, i): [number, number] => [i, i % 2 === 0 ? 0 : 10]);
  const line = thinned(points, 50);
  assert.equal(line.length, 50);
  for (const [, y] of line) assert(Math.abs(y - 5) < 1);
  assert(line.every(([x], i) => i === 0 || x > line[i - 1][0]));
  assert.deepEqual(thinned(points.slice(0, 100), 50), points.slice(0, 100));
});
