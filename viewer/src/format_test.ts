// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { duration, known, short } from "./format";

test("durations carry over at their limits", () => {
  assert.deepEqual([0, 59.4, 59.6, 3599.4, 3600, 7170].map(duration),
    ["0 s", "59 s", "1 min 00 s", "59 min 59 s", "1 h 00 min", "2 h 00 min"]);
});

test("large numbers are short", () => {
  assert.deepEqual([950, 9999, 10_000, 123_456, 1_234_567, 12_345_678].map(short),
    ["950", "9,999", "10.0 k", "123 k", "1.23 M", "12.3 M"]);
});

test("what is not known is a dash", () => {
  assert.equal(known(null, String), "–");
  assert.equal(known(0, String), "0");
});
