// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { packed, plyHarmonics, replaceHarmonics } from "./harmonics";

// As Spark's shader unpacks it.
function unpacked(word: number): number[] {
  const step = 2 ** ((word >>> 27) - 15) / 255;
  return [0, 1, 2].map((c) => ((word >>> (8 * c)) & 255) * step * ((word >>> (24 + c)) & 1 ? -1 : 1));
}

test("a coefficient keeps its value to a byte of the largest channel", () => {
  for (const rgb of [[0.99, -0.3, 0.01], [-1.01, 0.5, 2], [1.5, 1, -1.9], [0.0003, 0, -0.0002], [0.25, 0.25, 0.25]]) {
    const largest = Math.max(...rgb.map(Math.abs));
    unpacked(packed(rgb[0], rgb[1], rgb[2])).forEach((x, c) =>
      assert(Math.abs(x - rgb[c]) <= largest / 255 + 1e-9, `${rgb}: channel ${c} became ${x}`));
  }
  assert.deepEqual(unpacked(packed(0, 0, 0)).map(Math.abs), [0, 0, 0]);
});

function ply(names: string[], rows: number[][], format = "binary_little_endian"): Uint8Array {
  const header =
    `ply\nformat ${format} 1.0\nelement vertex ${rows.length}\n` +
    names.map((name) => `property float ${name}\n`).join("") + "end_header\n";
  const bytes = new Uint8Array(header.length + 4 * names.length * rows.length);
  bytes.set(new TextEncoder().encode(header));
  const data = new DataView(bytes.buffer, header.length);
  rows.flat().forEach((x, i) => data.setFloat32(4 * i, x, true));
  return bytes;
}

const kRest = Array.from({ length: 9 }, (_, i) => `f_rest_${i}`);
const kRow = (i: number) => [7, 8, ...kRest.map((_, k) => i + k / 16)];

test("harmonics of a .ply, and where Spark has them", async () => {
  const harmonics = plyHarmonics(ply(["x", "opacity", ...kRest], [kRow(0), kRow(1)]))!;
  assert.equal(harmonics.degree, 1);
  assert.equal(harmonics.at(1, 2, 0), 1 + 1 / 16);
  assert.equal(harmonics.at(1, 3, 2), 1 + 8 / 16);
  const sh1 = new Uint32Array(8);
  await replaceHarmonics({ sh1 }, 2, harmonics);
  assert.deepEqual([...sh1.slice(4)], [packed(1, 1.1875, 1.375), packed(1.0625, 1.25, 1.4375), packed(1.125, 1.3125, 1.5), 0]);
});

test("a .ply of another kind is left alone", () => {
  assert.equal(plyHarmonics(ply(["x", "opacity"], [[0, 0]])), null);
  assert.equal(plyHarmonics(ply(kRest, [kRow(0).slice(2)], "ascii")), null);
  assert.equal(plyHarmonics(ply(kRest.slice(1), [kRow(0).slice(3)])), null);
  assert.equal(plyHarmonics(new Uint8Array([1, 2, 3])), null);
});
