// SPDX-License-Identifier: Apache-2.0
// Models as the checks see them, and their comparison. Values are those of a 3DGS .ply: log scales, quaternions
// (w, x, y, z) of any length, logits of opacities, and `sh` as [gaussian][coefficient][channel], base colour first.

export const kSh0 = 0.28209479177387814;

export class Model {
  constructor(count, degree) {
    this.count = count;
    this.degree = degree;
    this.mean = new Float32Array(count * 3);
    this.logScale = new Float32Array(count * 3);
    this.rotation = new Float32Array(count * 4);
    this.logit = new Float32Array(count);
    this.sh = new Float32Array(count * 3 * this.shCount);
  }
  get shCount() {
    return (this.degree + 1) ** 2;
  }
}

export const sigmoid = (x) => 1 / (1 + Math.exp(-x));
export const logit = (p) => Math.log(p / (1 - p));

function mulberry32(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

// Quaternions that are hard to pack: equal components, zeros, a negative real part, any length.
const kHardRotations = [
  [1, 0, 0, 0], [-1, 0, 0, 0], [0, 1, 0, 0], [0, 0, -1, 0], [0, 0, 0, -3], [0.5, 0.5, 0.5, 0.5],
  [-0.5, 0.5, -0.5, 0.5], [-0.7, 0.7, 0, 0], [0, 0, 2, -2], [1e-4, -1, 1e-4, 0], [-0.02, -0.01, 0.03, 0.01],
];

// A random model with values at the ends of their ranges among those in the middle. All SH coefficients of a Gaussian
// come from one of `patterns` sets, since formats with a palette can hold no more.
export function randomModel(count, degree, seed, patterns = count) {
  const random = mulberry32(seed);
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const model = new Model(count, degree);
  const restCount = (model.shCount - 1) * 3;
  const sets = Array.from({ length: patterns }, (_, p) =>
    Float32Array.from({ length: restCount }, () => normal() * (p % 10 === 3 ? 1 : 0.2)));
  for (let i = 0; i < count; ++i) {
    const far = i % 50 === 7 ? 300 : 1;
    for (let axis = 0; axis < 3; ++axis) {
      model.mean[i * 3 + axis] = normal() * far;
      model.logScale[i * 3 + axis] = i % 40 === 11 ? (axis === 0 ? 5 : -9.5) : -4 + 1.5 * normal();
    }
    const hard = i % 3 === 1 ? kHardRotations[(i / 3 | 0) % kHardRotations.length] : null;
    for (let c = 0; c < 4; ++c) model.rotation[i * 4 + c] = hard ? hard[c] : normal() * (i % 5 === 0 ? 4 : 1);
    model.logit[i] = i % 30 === 13 ? 12 : i % 30 === 14 ? -12 : 3 * normal();
    const base = i * model.shCount * 3;
    for (let c = 0; c < 3; ++c) model.sh[base + c] = i % 25 === 9 ? 4 * normal() : normal();
    model.sh.set(sets[i % patterns], base + 3);
  }
  return model;
}

// Where a Gaussian of `model` starts in each array, and its quaternion made a unit one.
function unitRotation(model, i) {
  const q = model.rotation.subarray(i * 4, i * 4 + 4);
  const length = Math.hypot(...q);
  return [q[0] / length, q[1] / length, q[2] / length, q[3] / length];
}

// Of the quaternions that turn a Gaussian as q does, the one nearest to p: a half turn about an axis of the Gaussian changes
// nothing, nor does the sign.
function sameAxes([w, x, y, z], p) {
  let best = { dot: -1 };
  for (const r of [[w, x, y, z], [-x, w, z, -y], [-y, -z, w, x], [-z, y, -x, w]]) {
    const dot = p[0] * r[0] + p[1] * r[1] + p[2] * r[2] + p[3] * r[3];
    if (Math.abs(dot) > best.dot) best = { dot: Math.abs(dot), q: dot < 0 ? r.map((value) => -value) : r };
  }
  return best.q;
}

const clamp = (value, range) => (range ? Math.min(Math.max(value, range[0]), range[1]) : value);

// Calls visit(field, wanted, found, largest difference allowed) for every value of Gaussian i of `a` and Gaussian j of `b`,
// until it returns false. `format` is a row of formats.mjs: what a value may differ by, and the ranges that the format holds.
function visitValues(a, i, b, j, format, visit) {
  const step = (field, value, axis) =>
    typeof format[field] === "function" ? format[field]({ value, axis, i, j, a, b }) : format[field];
  const one = (field, wanted, found, axis) => {
    const kept = clamp(wanted, format.ranges?.[field]);
    return visit(field, kept, found, step(field, kept, axis) + 1e-6 * Math.abs(kept) + 1e-9);
  };
  for (let axis = 0; axis < 3; ++axis) {
    if (!one("mean", a.mean[i * 3 + axis], b.mean[j * 3 + axis], axis)) return;
    if (!one("logScale", a.logScale[i * 3 + axis], b.logScale[j * 3 + axis], axis)) return;
  }
  if (!one("opacity", sigmoid(a.logit[i]), sigmoid(b.logit[j]), 0)) return;
  const p = unitRotation(a, i);
  const q = sameAxes(unitRotation(b, j), p);
  for (let c = 0; c < 4; ++c)
    if (!visit("rotation", p[c], q[c], step("rotation", p, c) + 1e-6)) return;
  for (let c = 0; c < 3; ++c)
    if (!one("base", a.sh[i * a.shCount * 3 + c], b.sh[j * b.shCount * 3 + c], c)) return;
  for (let k = 3; k < a.shCount * 3; ++k)
    if (!one("rest", a.sh[i * a.shCount * 3 + k], b.sh[j * b.shCount * 3 + k], k)) return;
}

// The difference of two Gaussians in units of what is allowed, and where it is largest. Stops at `enough`.
function difference(a, i, b, j, format, enough) {
  const worst = { ratio: 0 };
  visitValues(a, i, b, j, format, (field, wanted, found, allowed) => {
    const off = Math.abs(wanted - found);
    const ratio = wanted === found ? 0 : Number.isNaN(off) ? Infinity : off / allowed;
    if (ratio > worst.ratio) Object.assign(worst, { ratio, field, wanted, found, allowed });
    return worst.ratio < enough;
  });
  return worst;
}

// Where each Gaussian of `b` is in `a`. Formats may reorder them: each takes the one that it differs from least.
function matches(a, b, format) {
  const inOrder = Array.from({ length: b.count }, (_, j) => j);
  if (inOrder.every((j) => difference(a, j, b, j, format, 1).ratio <= 1)) return inOrder;
  return inOrder.map((j) => {
    let best = { ratio: Infinity, i: -1 };
    for (let i = 0; i < a.count; ++i) {
      const { ratio } = difference(a, i, b, j, format, best.ratio);
      if (ratio < best.ratio) best = { ratio, i };
    }
    return best.i;
  });
}

// What is wrong with `b` as a copy of `a`, in a sentence, or null.
export function mistake(a, b, format) {
  if (b.count !== a.count) return `${b.count} Gaussians instead of ${a.count}`;
  if (b.degree !== a.degree && !format.baseColorOnly) return `SH degree ${b.degree} instead of ${a.degree}`;
  const wanted = b.degree === a.degree ? a : withoutHarmonics(a);
  const from = matches(wanted, b, format);
  let worst = { ratio: 0 };
  const taken = new Set();
  for (let j = 0; j < b.count; ++j) {
    if (from[j] < 0) return `Gaussian ${j} is like none of the original`;
    taken.add(from[j]);
    const found = difference(wanted, from[j], b, j, format, Infinity);
    if (found.ratio > worst.ratio) worst = { ...found, i: from[j], j };
  }
  if (worst.ratio > 1)
    return `${worst.field} of Gaussian ${worst.j} (originally ${worst.i}) is ${worst.found} instead of ` +
      `${worst.wanted}, ${worst.ratio.toPrecision(3)} times the ${worst.allowed.toPrecision(3)} allowed`;
  if (taken.size < a.count) return `only ${taken.size} of ${a.count} different Gaussians are left`;
  return null;
}

export function withoutHarmonics(model) {
  const result = new Model(model.count, 0);
  for (const field of ["mean", "logScale", "rotation", "logit"]) result[field] = model[field];
  for (let i = 0; i < model.count; ++i)
    for (let c = 0; c < 3; ++c) result.sh[i * 3 + c] = model.sh[i * model.shCount * 3 + c];
  return result;
}

// The model in another frame: axes times -1, for sign = (1, -1, -1) and the like with a determinant of 1.
export function flipped(model, sign) {
  const [x, y, z] = sign;
  const result = new Model(model.count, model.degree);
  result.logScale = model.logScale;
  result.logit = model.logit;
  // How each coefficient changes, from the polynomials of the basis: y, z, x; xy, yz, 2zz-xx-yy, xz, xx-yy; ...
  const parity = [1, y, z, x, x * y, y * z, 1, x * z, 1, y, x * y * z, y, z, x, z, x];
  for (let i = 0; i < model.count; ++i) {
    for (let axis = 0; axis < 3; ++axis) result.mean[i * 3 + axis] = sign[axis] * model.mean[i * 3 + axis];
    const turn = [1, y * z, x * z, x * y];
    for (let c = 0; c < 4; ++c) result.rotation[i * 4 + c] = turn[c] * model.rotation[i * 4 + c];
    for (let k = 0; k < model.shCount; ++k)
      for (let c = 0; c < 3; ++c) {
        const at = (i * model.shCount + k) * 3 + c;
        result.sh[at] = parity[k] * model.sh[at];
      }
  }
  return result;
}
