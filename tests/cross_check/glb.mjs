// SPDX-License-Identifier: Apache-2.0
// A reader of .glb files with KHR_gaussian_splatting, written from the specifications of glTF and of the extension, and a
// check by the validator of the Khronos Group.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Model, logit } from "./model.mjs";

const validator = createRequire(import.meta.url)("gltf-validator");
const kPrefix = "KHR_gaussian_splatting:";
const kComponents = { SCALAR: 1, VEC2: 2, VEC3: 3, VEC4: 4 };
const kNumbers = {  // by componentType: bytes, reader, divisor if normalized
  5120: [1, "getInt8", 127], 5121: [1, "getUint8", 255], 5122: [2, "getInt16", 32767],
  5123: [2, "getUint16", 65535], 5126: [4, "getFloat32", 1],
};

function openGlb(path) {
  const bytes = readFileSync(path);
  const jsonBytes = bytes.readUInt32LE(12);
  const json = JSON.parse(bytes.toString("utf8", 20, 20 + jsonBytes));
  const start = 20 + jsonBytes + 8;
  return { json, binary: new DataView(bytes.buffer, bytes.byteOffset + start, bytes.length - start) };
}

function readAccessor({ json, binary }, index) {
  const accessor = json.accessors[index];
  const view = json.bufferViews[accessor.bufferView];
  const [size, get, divisor] = kNumbers[accessor.componentType];
  const components = kComponents[accessor.type];
  const stride = view.byteStride ?? size * components;
  const start = (view.byteOffset ?? 0) + (accessor.byteOffset ?? 0);
  const values = new Float32Array(accessor.count * components);
  for (let i = 0; i < accessor.count; ++i)
    for (let c = 0; c < components; ++c) {
      const value = binary[get](start + i * stride + c * size, true);
      values[i * components + c] = accessor.normalized ? Math.max(value / divisor, -1) : value;
    }
  return values;
}

// The primitive of the only mesh, in the frame of the file.
export function readGlb(path) {
  const file = openGlb(path);
  const primitive = file.json.meshes[0].primitives[0];
  const attribute = (name) => readAccessor(file, primitive.attributes[name]);
  if (!file.json.extensionsUsed.includes("KHR_gaussian_splatting")) throw new Error(`${path}: the extension is missing`);
  if (primitive.mode !== 0) throw new Error(`${path}: the mode of the primitive is not POINTS`);
  const degree = [1, 2, 3, 4].findIndex((l) => !(`${kPrefix}SH_DEGREE_${l}_COEF_0` in primitive.attributes));
  const mean = attribute("POSITION");
  const model = new Model(mean.length / 3, degree);
  model.mean.set(mean);
  model.logScale.set(attribute(`${kPrefix}SCALE`).map(Math.log));
  model.logit.set(attribute(`${kPrefix}OPACITY`).map(logit));
  const rotation = attribute(`${kPrefix}ROTATION`);
  for (let i = 0; i < model.count; ++i) {
    const [x, y, z, w] = rotation.subarray(i * 4, i * 4 + 4);
    model.rotation.set([w, x, y, z], i * 4);
  }
  for (let l = 0, k = 0; l <= degree; ++l)
    for (let n = 0; n <= 2 * l; ++n, ++k) {
      const coefficient = attribute(`${kPrefix}SH_DEGREE_${l}_COEF_${n}`);
      for (let i = 0; i < model.count; ++i)
        model.sh.set(coefficient.subarray(i * 3, i * 3 + 3), (i * model.shCount + k) * 3);
    }
  return model;
}

// What the validator objects to, or null.
export async function invalid(path) {
  const report = await validator.validateBytes(new Uint8Array(readFileSync(path)));
  // It does not know the extension, and with it the names of its attributes.
  const issue = report.issues.messages.find(({ severity, code, pointer }) =>
    severity <= 1 && !(code === "MESH_PRIMITIVE_INVALID_ATTRIBUTE" && pointer.includes(`/${kPrefix}`)));
  return issue ? `${issue.code}: ${issue.message} (${issue.pointer})` : null;
}
