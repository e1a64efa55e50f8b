// SPDX-License-Identifier: Apache-2.0
// Spherical harmonics for Spark, with all their digits.
//
// Spark stores the three channels of a coefficient as bytes with a common power of two. The one that Spark 2.2 takes is up to
// a factor of 2 too small, so that large coefficients lose up to half of their value, which can be seen in pictures. So they
// are read again from the file and stored with the next power of two.

export interface Harmonics {
  degree: number;
  // The coefficient k, from 1, packed.
  word(gaussian: number, k: number): number;
}

interface SparkExtra { // coefficients 1 to 4, 5 to 8, 9 to 12 and 13 to 15, as words
  sh1?: Uint32Array;
  sh2?: Uint32Array;
  sh3a?: Uint32Array;
  sh3b?: Uint32Array;
}

const kAtOnce = 50_000; // Gaussians, before the browser may do something else
const kSteps = Float64Array.from({ length: 32 }, (_, exponent) => 2 ** (exponent - 15) / 255); // of the bytes

// Three bytes, five bits of exponent and three signs.
export function packed(r: number, g: number, b: number): number {
  const largest = Math.max(Math.abs(r), Math.abs(g), Math.abs(b));
  if (!(largest > 0)) return 0;
  const exponent = Math.min(31, Math.max(0, Math.ceil(Math.log2(largest)) + 15));
  const step = kSteps[exponent];
  const byte = (x: number) => Math.min(255, Math.round(Math.abs(x) / step));
  const signs = (r < 0 ? 1 : 0) | (g < 0 ? 2 : 0) | (b < 0 ? 4 : 0);
  return (byte(r) | (byte(g) << 8) | (byte(b) << 16) | (((exponent << 3) | signs) << 24)) >>> 0;
}

// Whether Spark can have stored `stored` for a coefficient that is `fresh`: with each channel at most as large, and at least
// half. Browsers that guard against being recognised change pixels that are read back, and with them what is read from a
// .sog: then Spark's value is the better one.
export function agree(stored: number, fresh: number): boolean {
  const storedStep = kSteps[stored >>> 27], freshStep = kSteps[fresh >>> 27], slack = storedStep + freshStep;
  const isOpposite = stored ^ fresh;
  for (let channel = 0; channel < 3; ++channel) {
    const size = ((fresh >>> (8 * channel)) & 255) * freshStep;
    const storedSize = ((stored >>> (8 * channel)) & 255) * storedStep * ((isOpposite >>> (24 + channel)) & 1 ? -1 : 1);
    if (storedSize > size + slack || storedSize < size / 2 - slack) return false;
  }
  return true;
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
      const place = (k - 1) & 3;
      for (let i = start; i < end; ++i) {
        const fresh = harmonics.word(i, k);
        if (agree(list[4 * i + place], fresh)) list[4 * i + place] = fresh;
      }
    }
    await new Promise((next) => setTimeout(next));
  }
}
