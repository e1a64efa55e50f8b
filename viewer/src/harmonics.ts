// SPDX-License-Identifier: Apache-2.0
// Spherical harmonics for Spark, with all their digits.
//
// Spark stores the three channels of a coefficient as bytes with a common power of two. The one that Spark 2.2 takes is up to
// a factor of 2 too small, so that large coefficients lose up to half of their value, which can be seen in pictures. So they
// are read again from the file and stored with the next power of two.

export interface Harmonics {
  degree: number;
  // The coefficient k, from 1, of a channel.
  at(gaussian: number, k: number, channel: number): number;
}

interface SparkExtra { // coefficients 1 to 4, 5 to 8, 9 to 12 and 13 to 15, as words
  sh1?: Uint32Array;
  sh2?: Uint32Array;
  sh3a?: Uint32Array;
  sh3b?: Uint32Array;
}

const kAtOnce = 50_000; // Gaussians, before the browser may do something else

// Three bytes, five bits of exponent and three signs.
export function packed(r: number, g: number, b: number): number {
  const largest = Math.max(Math.abs(r), Math.abs(g), Math.abs(b));
  if (!(largest > 0)) return 0;
  const exponent = Math.min(31, Math.max(0, Math.ceil(Math.log2(largest)) + 15));
  const step = 2 ** (exponent - 15) / 255;
  const byte = (x: number) => Math.min(255, Math.round(Math.abs(x) / step));
  const signs = (r < 0 ? 1 : 0) | (g < 0 ? 2 : 0) | (b < 0 ? 4 : 0);
  return (byte(r) | (byte(g) << 8) | (byte(b) << 16) | (((exponent << 3) | signs) << 24)) >>> 0;
}

// Replaces what Spark has stored of a model that it has decoded, before it is drawn.
export async function replaceHarmonics(extra: SparkExtra, count: number, harmonics: Harmonics): Promise<void> {
  const { sh1, sh2, sh3a, sh3b } = extra;
  const lists = [sh1, sh2, sh3a, sh3b];
  const last = (harmonics.degree + 1) ** 2 - 1;
  for (let start = 0; start < count; start += kAtOnce) {
    const end = Math.min(count, start + kAtOnce);
    for (let k = 1; k <= last; ++k) {
      const list = lists[(k - 1) >> 2];
      if (!list) continue;
      const word = (k - 1) & 3;
      for (let i = start; i < end; ++i) {
        list[4 * i + word] = packed(harmonics.at(i, k, 0), harmonics.at(i, k, 1), harmonics.at(i, k, 2));
      }
    }
    await new Promise((next) => setTimeout(next));
  }
}

// Those of the file; null if it has none, or keeps them in a way that is not read here.
export async function harmonicsOf(bytes: Uint8Array, format: string): Promise<Harmonics | null> {
  if (format === "ply") return plyHarmonics(bytes);
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
  return {
    degree,
    at: (i, k, channel) => data.getFloat32(i * stride + 4 * places[channel * perChannel + k - 1], true),
  };
}
