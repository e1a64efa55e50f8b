// SPDX-License-Identifier: Apache-2.0
// A reader and a writer of binary .ply files, independent of Stipple's.
import { readFileSync, writeFileSync } from "node:fs";
import { Model } from "./model.mjs";

const kTypes = {
  float: [4, "getFloat32"], double: [8, "getFloat64"], uchar: [1, "getUint8"], uint: [4, "getUint32"],
  int: [4, "getInt32"], short: [2, "getInt16"], ushort: [2, "getUint16"], char: [1, "getInt8"],
};

// All elements of a file: {vertex: {count, x: Float64Array, ...}, ...}.
export function readElements(path) {
  const bytes = readFileSync(path);
  const end = bytes.indexOf("end_header\n") + "end_header\n".length;
  const elements = [];
  for (const line of bytes.toString("latin1", 0, end).split("\n")) {
    const words = line.split(" ");
    if (words[0] === "format" && words[1] !== "binary_little_endian") throw new Error(`${path}: ${line}`);
    if (words[0] === "element") elements.push({ name: words[1], count: Number(words[2]), properties: [] });
    if (words[0] === "property") elements.at(-1).properties.push({ type: words[1], name: words[2] });
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const result = {};
  let at = end;
  for (const { name, count, properties } of elements) {
    const element = { count };
    for (const property of properties) element[property.name] = new Float64Array(count);
    for (let row = 0; row < count; ++row)
      for (const property of properties) {
        const [size, get] = kTypes[property.type];
        element[property.name][row] = view[get](at, true);
        at += size;
      }
    result[name] = element;
  }
  if (at !== bytes.length) throw new Error(`${path}: ${bytes.length - at} bytes too many`);
  return result;
}

export function readPly(path) {
  const vertex = readElements(path).vertex;
  const degrees = [1, 4, 9, 16].findIndex((n) => !(`f_rest_${(n - 1) * 3}` in vertex));
  const model = new Model(vertex.count, degrees);
  for (let i = 0; i < model.count; ++i) {
    ["x", "y", "z"].forEach((name, axis) => (model.mean[i * 3 + axis] = vertex[name][i]));
    for (let axis = 0; axis < 3; ++axis) model.logScale[i * 3 + axis] = vertex[`scale_${axis}`][i];
    for (let c = 0; c < 4; ++c) model.rotation[i * 4 + c] = vertex[`rot_${c}`][i];
    model.logit[i] = vertex.opacity[i];
    const rest = model.shCount - 1;
    for (let c = 0; c < 3; ++c) {
      const base = i * model.shCount * 3 + c;
      model.sh[base] = vertex[`f_dc_${c}`][i];
      for (let k = 0; k < rest; ++k) model.sh[base + (k + 1) * 3] = vertex[`f_rest_${c * rest + k}`][i];
    }
  }
  return model;
}

export function writePly(model, path) {
  const rest = model.shCount - 1;
  const names = ["x", "y", "z", "nx", "ny", "nz", "f_dc_0", "f_dc_1", "f_dc_2"];
  for (let k = 0; k < rest * 3; ++k) names.push(`f_rest_${k}`);
  names.push("opacity", "scale_0", "scale_1", "scale_2", "rot_0", "rot_1", "rot_2", "rot_3");
  const header = ["ply", "format binary_little_endian 1.0", `element vertex ${model.count}`,
    ...names.map((name) => `property float ${name}`), "end_header", ""].join("\n");
  const values = new Float32Array(model.count * names.length);
  for (let i = 0; i < model.count; ++i) {
    const row = values.subarray(i * names.length, (i + 1) * names.length);
    const base = i * model.shCount * 3;
    row.set(model.mean.subarray(i * 3, i * 3 + 3), 0);
    row.set(model.sh.subarray(base, base + 3), 6);
    for (let c = 0; c < 3; ++c)
      for (let k = 0; k < rest; ++k) row[9 + c * rest + k] = model.sh[base + (k + 1) * 3 + c];
    row[9 + rest * 3] = model.logit[i];
    row.set(model.logScale.subarray(i * 3, i * 3 + 3), 10 + rest * 3);
    row.set(model.rotation.subarray(i * 4, i * 4 + 4), 13 + rest * 3);
  }
  writeFileSync(path, Buffer.concat([Buffer.from(header), Buffer.from(values.buffer)]));
}
