// SPDX-License-Identifier: Apache-2.0
// What each format may change: by how much each kind of value may differ after writing and reading, and the ranges that
// values are clamped to. A step is a number, or a function of {value, axis, i, j, a, b}: Gaussian j of b is a copy of
// Gaussian i of a. Rotations are compared as unit quaternions, opacities as numbers from 0 to 1.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { unzipSync } from "fflate";
import { kSh0, sigmoid } from "./model.mjs";
import { readElements } from "./ply.mjs";

const kExact = { mean: 0, logScale: 0, rotation: 0, opacity: 0, base: 0, rest: 0 };
const kColorRange = [-0.5 / kSh0, 0.5 / kSh0];

// The error of a quaternion of which three components are stored, each wrong by at most `error`: the fourth, the largest,
// is computed from them.
const smallestThree = (error) => ({ value: q, axis: c }) => {
  const largest = q.reduce((best, x, k) => (Math.abs(x) > Math.abs(q[best]) ? k : best), 0);
  const others = q.reduce((sum, x, k) => sum + (k === largest ? 0 : Math.abs(x)), 0);
  const off = (error * others) / Math.abs(q[largest]) + error * error * 6;
  // Where two components are equally large, either can be the one that is left out.
  return Math.max(error, Math.abs(q[c]) > Math.abs(q[largest]) - 2 * error ? off : 0);
};

const kSplat = {
  ...kExact,
  logScale: 1e-6,
  rotation: 0.012,  // 8 bits each, and readers centre them differently: (b - 128) / 128 or b / 255 * 2 - 1
  opacity: 1 / 255,  // antimatter15's writer truncates
  base: 1 / 255 / kSh0,
  baseColorOnly: true,
  ranges: { base: kColorRange },
};

// Bits per value within the bounds of a chunk of 256 Gaussians, which the file itself tells.
function compressedPly(path) {
  const chunk = readElements(path).chunk;
  const range = (name, j) => {
    const c = Math.floor(j / 256);
    return chunk[`max_${name}`][c] - chunk[`min_${name}`][c];
  };
  const levels = [2047, 1023, 2047];
  return {
    mean: ({ axis, j }) => (0.5 * range("xyz"[axis], j)) / levels[axis],
    logScale: ({ axis, j }) => (0.5 * range(`scale_${"xyz"[axis]}`, j)) / levels[axis],
    rotation: smallestThree((0.5 * Math.SQRT2) / 1023),
    opacity: 0.5 / 255,
    base: ({ axis, j }) => (0.5 * range("rgb"[axis], j)) / 255 / kSh0,
    rest: 4 / 256,
    ranges: { rest: [-4, 4], logScale: [-20, 20] },
  };
}

function spz(version) {
  return {
    mean: 0.5 / 4096,
    logScale: 0.5 / 16,
    rotation: version === 2 ? firstThreeOfV2 : smallestThree((0.5 * Math.SQRT1_2) / 511),
    opacity: 0.5 / 255,
    base: 0.5 / 255 / 0.15,
    rest: ({ axis }) => (axis < 12 ? 4.5 : 8.5) / 128,  // 5 bits for degree 1, 4 bits for the others
    ranges: { mean: [-2047, 2047], logScale: [-10, 255 / 16 - 10], base: [-0.5 / 0.15, 0.5 / 0.15], rest: [-1, 127 / 128] },
  };
}

// x, y and z have 8 bits, and w is computed from them, which costs accuracy where it is small.
function firstThreeOfV2({ value: q, axis: c }) {
  const error = 0.5 / 127.5;
  const w = Math.abs(q[0]);
  const offSquared = 2 * error * (Math.abs(q[1]) + Math.abs(q[2]) + Math.abs(q[3])) + 3 * error * error;
  const off = Math.min(Math.sqrt(offSquared), w > 0 ? offSquared / w : 1);
  return c === 0 ? off : error + off * off;  // a reader may make it a unit quaternion again
}

// A position has 16 bits between the bounds of sign(x) * ln(|x| + 1). Scales, colours and coefficients are the nearest of
// 256 values.
function sog(path) {
  const files = unzipSync(readFileSync(path));
  return sogSteps(JSON.parse(Buffer.from(files["meta.json"]).toString()));
}

// A small model is one chunk of the finest level.
function lod(path) {
  return sogSteps(JSON.parse(readFileSync(join(dirname(path), "0_0/meta.json"), "utf8")));
}

function sogSteps(meta) {
  const nearest = (codebook) => ({ value }) => Math.min(...codebook.map((entry) => Math.abs(entry - value))) + 1e-5;
  return {
    mean: ({ axis, value }) =>
      (1.01 * (meta.means.maxs[axis] - meta.means.mins[axis]) * (Math.abs(value) + 1)) / 65535,
    logScale: nearest(meta.scales.codebook),
    rotation: smallestThree(Math.SQRT2 / 255),
    opacity: 1 / 255,
    base: nearest(meta.sh0.codebook),
    rest: meta.shN ? nearest(meta.shN.codebook) : 0,  // if the palette has room for all sets of coefficients
  };
}

// It does not keep the colours of Gaussians that nobody sees, those whose opacity becomes the byte 0.
function bySplatTransform(steps) {
  return { ...steps, base: (call) => (sigmoid(call.a.logit[call.i]) < 1 / 255 ? Infinity : steps.base(call)) };
}

function ksplat(path, level) {
  const header = new DataView(readFileSync(path).buffer);
  const shRange = header.getFloat32(40, true) - header.getFloat32(36, true);
  return {
    mean: level === 0 ? 0 : 2.5 / 32767,
    logScale: level === 0 ? 1e-6 : 2 ** -10,
    rotation: level === 0 ? 1e-6 : 2 ** -10,
    opacity: 1 / 255,
    base: 1 / 255 / kSh0,
    rest: level === 0 ? 0 : level === 1 ? ({ value }) => 2 ** -10 * Math.abs(value) + 1e-7 : shRange / 255,
    ranges: { base: kColorRange },
  };
}

const glb = { ...kExact, logScale: 1e-6, opacity: 1e-6, rotation: 1e-6 };

// By name: the steps of a file in this format, which may depend on the file.
export const formats = {
  "ply": () => kExact,
  "splat": () => kSplat,
  "compressed.ply": compressedPly,
  "ksplat-0": (path) => ksplat(path, 0),
  "ksplat-1": (path) => ksplat(path, 1),
  "ksplat-2": (path) => ksplat(path, 2),
  "spz-2": () => spz(2),
  "spz-3": () => spz(3),
  "spz-4": () => spz(4),
  "glb": () => glb,
  "sog": sog,
  "sog by splat-transform": (path) => bySplatTransform(sog(path)),
  "lod": lod,
  "lod by splat-transform": (path) => bySplatTransform(lod(path)),
};

// Spark hands over what it reads as .spz of version 2, which limits what can be told about its values.
export function throughSpz(format) {
  const bottleneck = { ...spz(2), logScale: 1 / 16, opacity: 1 / 255, base: 1 / 255 / 0.15, rest: 9 / 128 };  // it truncates
  const sum = { ranges: {} };
  for (const field of Object.keys(kExact)) {
    const at = (row, call) => (typeof row[field] === "function" ? row[field](call) : row[field]);
    sum[field] = (call) => at(format, call) + at(bottleneck, call);
    const ranges = [format.ranges?.[field], bottleneck.ranges[field]].filter(Boolean);
    if (ranges.length) sum.ranges[field] = [Math.max(...ranges.map((r) => r[0])), Math.min(...ranges.map((r) => r[1]))];
  }
  return sum;
}

// Two readers of one file find the same values, up to the rounding of single precision. Opacities of 0 and 1 have no finite
// logit, and each reader has its own way out.
export const sameFile = {
  mean: 1e-6, logScale: 1e-5, rotation: 1e-5, base: 1e-5, rest: 1e-5,
  opacity: ({ value }) => (Math.min(value, 1 - value) < 0.4 / 255 ? 0.4 / 255 : 1e-6),
};
