// SPDX-License-Identifier: Apache-2.0
// How two pictures differ, in the colours of `stipple eval`'s contact sheets (src/stipple/evaluate/contact_sheet.cpp).

const kGain = 4; // white from a mean difference of a quarter
const kKnots = [[0, 0, 0], [0.1, 0.1, 0.75], [0.85, 0.1, 0.6], [1, 0.8, 0.15], [1, 1, 1]];
// For every sum of the differences of three channels of one byte.
const kHeat = Uint8ClampedArray.from({ length: 3 * 766 }, (_, i) => {
  const value = Math.min(1, (kGain * Math.floor(i / 3)) / 765) * (kKnots.length - 1);
  const piece = Math.min(Math.floor(value), kKnots.length - 2);
  const share = value - piece;
  return 255 * (kKnots[piece][i % 3] * (1 - share) + kKnots[piece + 1][i % 3] * share);
});

// The map of two pictures of one size, RGBA.
export function errorMap(a: Uint8ClampedArray, b: Uint8ClampedArray): Uint8ClampedArray<ArrayBuffer> {
  const map = new Uint8ClampedArray(a.length);
  for (let i = 0; i < a.length; i += 4) {
    const sum = Math.abs(a[i] - b[i]) + Math.abs(a[i + 1] - b[i + 1]) + Math.abs(a[i + 2] - b[i + 2]);
    map[i] = kHeat[3 * sum];
    map[i + 1] = kHeat[3 * sum + 1];
    map[i + 2] = kHeat[3 * sum + 2];
    map[i + 3] = 255;
  }
  return map;
}

// Draws the map of two pictures of any size onto a canvas, at the size of the first.
export function drawErrorMap(canvas: HTMLCanvasElement, a: CanvasImageSource & Sized, b: CanvasImageSource & Sized): void {
  const { width, height } = a;
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d", { willReadFrequently: true })!;
  const pixels = (source: CanvasImageSource) => {
    context.imageSmoothingQuality = "high";
    context.drawImage(source, 0, 0, width, height);
    return context.getImageData(0, 0, width, height).data;
  };
  context.putImageData(new ImageData(errorMap(pixels(a), pixels(b)), width, height), 0, 0);
}
interface Sized {
  readonly width: number;
  readonly height: number;
}
