// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { packed } from "./harmonics";
import { spzHarmonics } from "./spz_harmonics";

// Two Gaussians of which all bytes but those of the harmonics are 255.
async function spz(version: number, degree: number, harmonics: number[]): Promise<Uint8Array> {
  const others = 2 * (version === 2 ? 19 : 20);
  const plain = new Uint8Array(16 + others + harmonics.length).fill(255);
  const header = new DataView(plain.buffer);
  [0x5053474e, version, 2].forEach((value, i) => header.setUint32(4 * i, value, true));
  header.setUint8(12, degree);
  plain.set(harmonics, 16 + others);
  const packing = new Blob([plain]).stream().pipeThrough(new CompressionStream("gzip"));
  return new Uint8Array(await new Response(packing).arrayBuffer());
}

test("harmonics of an .spz", async () => {
  const bytes = Array.from({ length: 18 }, (_, i) => 128 + 4 * i);
  for (const version of [2, 3]) {
    const harmonics = (await spzHarmonics(await spz(version, 1, bytes)))!;
    assert.equal(harmonics.degree, 1);
    assert.equal(harmonics.word(0, 1), packed(0, 1 / 32, 2 / 32));
    assert.equal(harmonics.word(1, 3), packed(15 / 32, 16 / 32, 17 / 32));
  }
});

test("an .spz without harmonics, or of another version, has none", async () => {
  assert.equal(await spzHarmonics(await spz(3, 0, [])), null);
  assert.equal(await spzHarmonics(await spz(4, 1, Array(18).fill(0))), null);
  assert.equal(await spzHarmonics(await spz(3, 1, Array(17).fill(0))), null, "cut off");
});
