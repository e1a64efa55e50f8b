// SPDX-License-Identifier: Apache-2.0
// The harmonics that the file of a model has.
import { packed, type Harmonics } from "./harmonics";
import { sogHarmonics } from "./sog_harmonics";
import { spzHarmonics } from "./spz_harmonics";

// Null if the file has none, or keeps them in a way that is not read here.
export async function harmonicsOf(bytes: Uint8Array, format: string): Promise<Harmonics | null> {
  try {
    if (format === "ply") return plyHarmonics(bytes);
    if (format === "sog") return await sogHarmonics(bytes);
    if (format === "spz") return await spzHarmonics(bytes);
  } catch {
    // Spark has read the file, and what it has stored will do.
  }
  return null;
}

// Of a 3DGS .ply: float properties f_rest_0 and so on, all of red first.
export function plyHarmonics(bytes: Uint8Array): Harmonics | null {
  const start = new TextDecoder("latin1").decode(bytes.subarray(0, 1 << 16));
  const end = /end_header\r?\n/.exec(start);
  if (!end || !/^format binary_little_endian 1\.0\s*$/m.test(start)) return null;
  const header = start.slice(0, end.index).split(/\r?\n/);
  const elements = header.filter((line) => line.startsWith("element "));
  if (!elements[0]?.startsWith("element vertex ")) return null;
  const first = header.indexOf(elements[0]), next = elements[1] ? header.indexOf(elements[1]) : header.length;
  const properties = header.slice(first, next).filter((line) => line.startsWith("property "));
  if (!properties.every((line) => /^property (float|float32) /.test(line))) return null;

  const names = properties.map((line) => line.split(/\s+/)[2]);
  const count = names.filter((name) => name.startsWith("f_rest_")).length;
  const degree = Math.round(Math.sqrt(count / 3 + 1)) - 1;
  const perChannel = (degree + 1) ** 2 - 1;
  const places = Array.from({ length: count }, (_, i) => names.indexOf(`f_rest_${i}`));
  if (count === 0 || count !== 3 * perChannel || places.includes(-1)) return null;

  const data = new DataView(bytes.buffer, bytes.byteOffset + end.index + end[0].length);
  const stride = 4 * names.length;
  const at = (i: number, k: number, channel: number) =>
    data.getFloat32(i * stride + 4 * places[channel * perChannel + k - 1], true);
  return { degree, word: (i, k) => packed(at(i, k, 0), at(i, k, 1), at(i, k, 2)) };
}
