// SPDX-License-Identifier: Apache-2.0
// Comparisons of two images {width, height, rgb}.
import assert from "node:assert/strict";

function squaredError(a, b) {
  assert.deepEqual([a.width, a.height], [b.width, b.height], "the images have one size");
  let sum = 0;
  for (let i = 0; i < a.rgb.length; ++i) sum += (a.rgb[i] - b.rgb[i]) ** 2;
  return sum / a.rgb.length;
}

export const psnr = (a, b) => 10 * Math.log10(255 ** 2 / squaredError(a, b));

// The share of pixels that differ visibly.
export function difference(a, b) {
  assert.deepEqual([a.width, a.height], [b.width, b.height], "the images have one size");
  let differing = 0;
  for (let i = 0; i < a.rgb.length; i += 3) {
    const largest = Math.max(...[0, 1, 2].map((c) => Math.abs(a.rgb[i + c] - b.rgb[i + c])));
    if (largest > 12) ++differing;
  }
  return differing / (a.rgb.length / 3);
}

// The standard deviation of the pixels: 0 for a picture that shows nothing.
export function contrast(image) {
  let sum = 0;
  let squares = 0;
  for (const value of image.rgb) {
    sum += value;
    squares += value * value;
  }
  const mean = sum / image.rgb.length;
  return Math.sqrt(squares / image.rgb.length - mean * mean);
}
