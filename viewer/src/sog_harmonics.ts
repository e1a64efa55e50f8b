// SPDX-License-Identifier: Apache-2.0
// The harmonics in a .sog: a palette and, for each Gaussian, the number of its entry, both as images.
import { packed, type Harmonics } from "./harmonics";
import { storedFiles } from "./zip";

const kColumns = 64; // entries in a row of the palette

export interface Pixels {
  width: number;
  data: Uint8ClampedArray; // red, green, blue, alpha
}

interface SogMeta {
  version?: number;
  shN?: { bands: number; codebook: number[]; files: [string, string] };
}

// Null if the file has none, or is of version 1.
export async function sogHarmonics(
  bytes: Uint8Array, decode: (webp: Uint8Array) => Promise<Pixels> = pixelsOf,
): Promise<Harmonics | null> {
  const files = storedFiles(bytes);
  const text = files?.get("meta.json");
  if (!files || !text) return null;
  const { version, shN } = JSON.parse(new TextDecoder().decode(text)) as SogMeta;
  const [palette, labels] = shN?.files.map((name) => files.get(name)) ?? [];
  if (version !== 2 || !shN || !palette || !labels) return null;
  return harmonicsIn(shN.bands, shN.codebook, await decode(palette), await decode(labels));
}

function harmonicsIn(degree: number, codebook: number[], palette: Pixels, labels: Pixels): Harmonics {
  const perGaussian = (degree + 1) ** 2 - 1;
  const value = (entry: number, k: number, channel: number) => {
    const x = (entry % kColumns) * perGaussian + k - 1, y = Math.floor(entry / kColumns);
    return codebook[palette.data[4 * (y * palette.width + x) + channel]];
  };
  const count = kColumns * Math.floor(palette.data.length / (4 * palette.width));
  const words = Uint32Array.from({ length: count * perGaussian }, (_, i) => {
    const entry = Math.floor(i / perGaussian), k = (i % perGaussian) + 1;
    return packed(value(entry, k, 0), value(entry, k, 1), value(entry, k, 2));
  });
  const entryOf = (i: number) => labels.data[4 * i] | (labels.data[4 * i + 1] << 8);
  return { degree, word: (i, k) => words[entryOf(i) * perGaussian + k - 1] };
}

async function pixelsOf(webp: Uint8Array): Promise<Pixels> {
  const blob = new Blob([webp as Uint8Array<ArrayBuffer>], { type: "image/webp" });
  const image = await createImageBitmap(blob, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  const context = new OffscreenCanvas(image.width, image.height).getContext("2d", { willReadFrequently: true })!;
  context.drawImage(image, 0, 0);
  return context.getImageData(0, 0, image.width, image.height);
}
