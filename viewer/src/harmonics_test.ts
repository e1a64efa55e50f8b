// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { agree, packed, replaceHarmonics } from "./harmonics";

// As Spark's shader unpacks it.
function unpacked(word: number): number[] {
  const step = 2 ** ((word >>> 27) - 15) / 255;
  return [0, 1, 2].map((c) => ((word >>> (8 * c)) & 255) * step * ((word >>> (24 + c)) & 1 ? -1 : 1));
}

// As Spark packs: with an exponent that may be too small.
function packedBySpark(...rgb: number[]): number {
  const exponent = Math.floor(Math.log2(Math.max(...rgb.map(Math.abs)))), most = 2 ** exponent;
  const [r, g, b] = rgb.map((x) => Math.max(-most, Math.min(most, x)));
  return packed(r, g, b);
}

const kSome = [[0.99, -0.3, 0.01], [-1.01, 0.5, 2], [1.5, 1, -1.9], [0.0003, 0, -0.0002], [0.25, 0.25, 0.25], [-0.126, 0.1, 0]];

test("a coefficient keeps its value to a byte of the largest channel", () => {
  for (const rgb of kSome) {
    const largest = Math.max(...rgb.map(Math.abs));
    unpacked(packed(rgb[0], rgb[1], rgb[2])).forEach((x, c) =>
      assert(Math.abs(x - rgb[c]) <= largest / 255 + 1e-9, `${rgb}: channel ${c} became ${x}`));
  }
  assert.deepEqual(unpacked(packed(0, 0, 0)).map(Math.abs), [0, 0, 0]);
});

test("what Spark has stored of the same coefficient is replaced, and nothing else is", async () => {
  for (const [r, g, b] of kSome) {
    const spark = packedBySpark(r, g, b);
    assert(agree(spark, packed(r, g, b)), `${[r, g, b]}`);
    assert(!agree(spark, packed(-r, g, b)), "another sign");
    assert(!agree(spark, packed(3 * r, g, b)), "larger");
    assert(!agree(spark, packed(r, g + 5, b)), "another channel");
  }
  const spark = packedBySpark(0.9, 0.1, 0), sh1 = Uint32Array.of(spark, spark, spark, 7);
  await replaceHarmonics({ sh1 }, 1, { degree: 1, word: (_, k) => (k === 2 ? packed(-0.9, 0.1, 0) : packed(0.9, 0.1, 0)) });
  assert.deepEqual([...sh1], [packed(0.9, 0.1, 0), spark, packed(0.9, 0.1, 0), 7]);
});

test("each coefficient is stored where Spark has it", async () => {
  const lists = Array.from({ length: 4 }, () => new Uint32Array(8));
  const [sh1, sh2, sh3a, sh3b] = lists;
  const value = (i: number, k: number) => packed(2 ** -(i + k), 0, 0); // which Spark packs well
  lists.forEach((list, at) => list.forEach((_, j) => (list[j] = value(j >> 2, 4 * at + (j & 3) + 1))));
  const expected = lists.map((list) => [...list]);
  await replaceHarmonics({ sh1, sh2, sh3a, sh3b }, 2, { degree: 3, word: value });
  assert.deepEqual(lists.map((list) => [...list]), expected);
});
