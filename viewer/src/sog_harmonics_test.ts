// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { packed } from "./harmonics";
import { sogHarmonics, type Pixels } from "./sog_harmonics";
import { storedFiles } from "./zip";

function concat(parts: Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

// Numbers of so many bytes each, least significant byte first.
const fields = (...values: [number, number][]) =>
  Uint8Array.from(values.flatMap(([bytes, value]) => Array.from({ length: bytes }, (_, i) => (value >>> (8 * i)) & 255)));

function zip(files: Record<string, Uint8Array>, method = 0, comment = ""): Uint8Array {
  const text = new TextEncoder(), heads: Uint8Array[] = [], entries: Uint8Array[] = [];
  let at = 0;
  for (const [name, content] of Object.entries(files)) {
    const size = content.length, extra = 3; // in the head only
    const head = concat([
      fields([4, 0x04034b50], [2, 20], [2, 0], [2, method], [8, 0], [4, size], [4, size], [2, name.length], [2, extra]),
      text.encode(name), new Uint8Array(extra), content]);
    entries.push(concat([
      fields([4, 0x02014b50], [4, 0], [2, 0], [2, method], [8, 0], [4, size], [4, size], [2, name.length], [2, 0], [2, 0], [8, 0],
        [4, at]),
      text.encode(name)]));
    heads.push(head);
    at += head.length;
  }
  const directory = concat(entries);
  const count = entries.length;
  const end = fields([4, 0x06054b50], [4, 0], [2, count], [2, count], [4, directory.length], [4, at], [2, comment.length]);
  return concat([...heads, directory, end, text.encode(comment)]);
}

const bytes = (text: string) => new TextEncoder().encode(text);

test("files in a zip archive", () => {
  const files = { a: bytes("first"), "meta.json": bytes("{}"), empty: new Uint8Array() };
  for (const archive of [zip(files), zip(files, 0, "a comment")]) {
    assert.deepEqual([...storedFiles(archive)!].map(([name, content]) => [name, [...content]]),
      Object.entries(files).map(([name, content]) => [name, [...content]]));
  }
  assert.equal(storedFiles(zip(files, 8))!.size, 0, "compressed ones are left out");
  const archive = zip(files);
  assert.equal(storedFiles(archive.subarray(10)), null, "the places do not fit");
  assert.equal(storedFiles(archive.subarray(0, archive.length - 1)), null, "no end");
  assert.equal(storedFiles(new Uint8Array()), null);
});

// An image whose texel i is `texel(i)`.
function image(width: number, count: number, texel: (i: number) => number[]): Pixels {
  return { width, data: Uint8ClampedArray.from(Array.from({ length: count }, (_, i) => [...texel(i), 255]).flat()) };
}

test("harmonics of a .sog", async () => {
  const codebook = Array.from({ length: 256 }, (_, i) => (i - 128) / 64);
  const kWidth = 64 * 3; // of degree 1; two rows
  const palette = image(kWidth, 2 * kWidth, (i) => [i & 255, (7 * i) & 255, (13 * i) & 255]);
  const labels = image(4, 8, (i) => [(100 * i) & 127, 0, 9]);
  const meta = { version: 2, shN: { bands: 1, codebook, files: ["c.webp", "l.webp"] } };
  const archive = (about: object) =>
    zip({ "c.webp": bytes("c"), "l.webp": bytes("l"), "meta.json": bytes(JSON.stringify(about)) });
  const decode = async (webp: Uint8Array) => (webp[0] === "c".charCodeAt(0) ? palette : labels);
  const harmonics = (await sogHarmonics(archive(meta), decode))!;
  assert.equal(harmonics.degree, 1);
  // Gaussian 1 has entry 100, in column 36 of row 1; its coefficient 2 is texel 192 + 3 * 36 + 1.
  assert.equal(harmonics.word(1, 2), packed(codebook[301 & 255], codebook[(7 * 301) & 255], codebook[(13 * 301) & 255]));
  assert.equal(harmonics.word(0, 1), packed(codebook[0], codebook[0], codebook[0]));
  assert.equal(await sogHarmonics(archive({ ...meta, version: 1 }), decode), null);
  assert.equal(await sogHarmonics(archive({ version: 2 }), decode), null, "degree 0");
});
