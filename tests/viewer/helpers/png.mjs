// SPDX-License-Identifier: Apache-2.0
// Reads .png files of 8 bits per channel that are not interlaced, as Chromium and Stipple write them.
import { inflateSync } from "node:zlib";

const kChannels = { 0: 1, 2: 3, 4: 2, 6: 4 };

function paeth(left, up, corner) {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

// Undoes the filters of the rows, each of which starts with the number of its filter.
function unfiltered(filtered, rowBytes, pixelBytes) {
  const rows = filtered.length / (rowBytes + 1);
  const bytes = new Uint8Array(rows * rowBytes);
  for (let y = 0; y < rows; ++y) {
    const filter = filtered[y * (rowBytes + 1)];
    for (let x = 0; x < rowBytes; ++x) {
      const left = x >= pixelBytes ? bytes[y * rowBytes + x - pixelBytes] : 0;
      const up = y > 0 ? bytes[(y - 1) * rowBytes + x] : 0;
      const corner = x >= pixelBytes && y > 0 ? bytes[(y - 1) * rowBytes + x - pixelBytes] : 0;
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter];
      bytes[y * rowBytes + x] = filtered[y * (rowBytes + 1) + 1 + x] + predicted;
    }
  }
  return bytes;
}

// Returns {width, height, rgb}; alpha is dropped.
export function decodePng(file) {
  const parts = [];
  let header;
  for (let at = 8; at < file.length; at += 12 + file.readUInt32BE(at)) {
    const name = file.toString("latin1", at + 4, at + 8);
    const data = file.subarray(at + 8, at + 8 + file.readUInt32BE(at));
    if (name === "IHDR") header = data;
    if (name === "IDAT") parts.push(data);
  }
  const width = header.readUInt32BE(0);
  const height = header.readUInt32BE(4);
  const channels = kChannels[header[9]];
  if (header[8] !== 8 || channels === undefined || header[12] !== 0) throw new Error("this kind of .png is not read here");
  const bytes = unfiltered(inflateSync(Buffer.concat(parts)), width * channels, channels);
  const rgb = new Uint8Array(width * height * 3);
  for (let i = 0; i < width * height; ++i) {
    for (let c = 0; c < 3; ++c) rgb[3 * i + c] = bytes[channels * i + (channels < 3 ? 0 : c)];
  }
  return { width, height, rgb };
}
