// SPDX-License-Identifier: Apache-2.0
// The harmonics in an .spz of version 2 or 3, which is one gzip stream.
import { packed, type Harmonics } from "./harmonics";

const kMagic = 0x5053474e, kHeaderBytes = 16;
// Of a Gaussian, besides its harmonics: mean, opacity, colour, scales and rotation.
const kOtherBytes: Record<number, number> = { 2: 9 + 1 + 3 + 3 + 3, 3: 9 + 1 + 3 + 3 + 4 };

export async function spzHarmonics(bytes: Uint8Array): Promise<Harmonics | null> {
  const plain = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream().pipeThrough(new DecompressionStream("gzip"));
  return harmonicsOfPlain(new Uint8Array(await new Response(plain).arrayBuffer()));
}

function harmonicsOfPlain(plain: Uint8Array): Harmonics | null {
  const header = new DataView(plain.buffer, 0, kHeaderBytes);
  const [magic, version, count] = [0, 4, 8].map((at) => header.getUint32(at, true));
  const degree = header.getUint8(12), perGaussian = (degree + 1) ** 2 - 1;
  const others = kOtherBytes[version];
  if (magic !== kMagic || !others || degree < 1 || degree > 3) return null;
  const start = kHeaderBytes + count * others;
  if (plain.length < start + 3 * perGaussian * count) return null;
  const at = (i: number, k: number, channel: number) => (plain[start + 3 * (perGaussian * i + k - 1) + channel] - 128) / 128;
  return { degree, word: (i, k) => packed(at(i, k, 0), at(i, k, 1), at(i, k, 2)) };
}
