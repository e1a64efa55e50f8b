// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { harmonicsOf, plyHarmonics } from "./file_harmonics";
import { packed } from "./harmonics";

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

test("harmonics of a .ply", () => {
  const harmonics = plyHarmonics(ply(["x", "opacity", ...kRest], [kRow(0), kRow(1)]))!;
  assert.equal(harmonics.degree, 1);
  assert.deepEqual(
    [1, 2, 3].map((k) => harmonics.word(1, k)),
    [packed(1, 1.1875, 1.375), packed(1.0625, 1.25, 1.4375), packed(1.125, 1.3125, 1.5)]);
});

test("a .ply of another kind is left alone", () => {
  assert.equal(plyHarmonics(ply(["x", "opacity"], [[0, 0]])), null);
  assert.equal(plyHarmonics(ply(kRest, [kRow(0).slice(2)], "ascii")), null);
  assert.equal(plyHarmonics(ply(kRest.slice(1), [kRow(0).slice(3)])), null);
  assert.equal(plyHarmonics(new Uint8Array([1, 2, 3])), null);
});

test("a damaged file of any format has none", async () => {
  for (const format of ["ply", "sog", "spz", "splat"]) {
    for (const bytes of [[], [1, 2, 3], [0x1f, 0x8b, 8, 0], Array.from({ length: 100 }, (_, i) => i)]) {
      assert.equal(await harmonicsOf(new Uint8Array(bytes), format), null, format);
    }
  }
});
