// SPDX-License-Identifier: Apache-2.0
// The programs of others: how each is made to write a model as a file, and to read one.
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { PlyParser, SplatBufferGenerator } from "./node_modules/@mkkellogg/gaussian-splats-3d/build/gaussian-splats-3d.module.js";
import { transcodeSpz } from "@sparkjsdev/spark";
import { SplatData } from "gsplat";
import { Model, kSh0, logit, sigmoid } from "./model.mjs";
import { readPly, writePly } from "./ply.mjs";

const run = promisify(execFile);
const kModules = join(dirname(fileURLToPath(import.meta.url)), "node_modules");
// node 18 takes the file for CommonJS, since the package does not say what it is.
const adobeCode = readFileSync(join(kModules, "@adobe/spz/dist/spz.js"), "base64");
const adobe = await (await import(`data:text/javascript;base64,${adobeCode}`)).default();

// PlayCanvas's converter, from one file to another.
export async function splatTransform(input, output, ...options) {
  const command = join(kModules, "@playcanvas/splat-transform/bin/cli.mjs");
  try {
    await run(process.execPath, [command, "--quiet", "--overwrite", "--gpu", "cpu", ...options, input, output]);
  } catch (error) {
    throw new Error(`splat-transform ${input} ${output}: ${error.stderr || error.message}`);
  }
}

export async function readWithSplatTransform(path) {
  const finest = path.endsWith("lod-meta.json") ? ["--select-lod", "0"] : [];
  await splatTransform(path, `${path}.by_splat_transform.ply`, ...finest);
  return readPly(`${path}.by_splat_transform.ply`);
}

function modelOfCloud(cloud) {
  const model = new Model(cloud.numPoints, cloud.shDegree);
  const rest = (model.shCount - 1) * 3;
  model.mean.set(cloud.positions);
  model.logScale.set(cloud.scales);
  model.logit.set(cloud.alphas);
  for (let i = 0; i < model.count; ++i) {
    const [x, y, z, w] = cloud.rotations.subarray(i * 4, i * 4 + 4);
    model.rotation.set([w, x, y, z], i * 4);
    model.sh.set(cloud.colors.subarray(i * 3, i * 3 + 3), i * (rest + 3));
    model.sh.set(cloud.sh.subarray(i * rest, (i + 1) * rest), i * (rest + 3) + 3);
  }
  return model;
}

// The reference implementation of .spz, in the frame of a .ply (x right, y down, z forward).
export function writeWithAdobe(model, path, version) {
  const rest = (model.shCount - 1) * 3;
  const cloud = {
    numPoints: model.count, shDegree: model.degree, antialiased: false, extensions: [],
    positions: model.mean, scales: model.logScale, alphas: model.logit,
    rotations: new Float32Array(model.count * 4), colors: new Float32Array(model.count * 3),
    sh: new Float32Array(model.count * rest),
  };
  for (let i = 0; i < model.count; ++i) {
    const [w, x, y, z] = model.rotation.subarray(i * 4, i * 4 + 4);
    cloud.rotations.set([x, y, z, w], i * 4);
    const base = i * (rest + 3);
    cloud.colors.set(model.sh.subarray(base, base + 3), i * 3);
    cloud.sh.set(model.sh.subarray(base + 3, base + 3 + rest), i * rest);
  }
  const from = adobe.CoordinateSystem.RDF;
  writeFileSync(path, adobe.saveSpzToBuffer(cloud, { version, from, sh1Bits: 5, shRestBits: 4 }));
}

const readBytes = (path) => new Uint8Array(readFileSync(path));

export function readWithAdobe(path) {
  return modelOfCloud(adobe.loadSpzFromBuffer(readBytes(path), { to: adobe.CoordinateSystem.RDF }));
}

// Its package is built for browsers: in node, it looks for functions that were left out of it.
async function loadSpzLoader() {
  process.type = "renderer";
  globalThis.window = globalThis;
  try {
    return await import("@spz-loader/core");
  } finally {
    delete globalThis.window;
  }
}
const spzLoader = await loadSpzLoader();

export async function readWithSpzLoader(path) {
  globalThis.window = globalThis;
  const cloud = await spzLoader.loadSpz(readBytes(path), { unpackOptions: { coordinateSystem: "RDF" } });
  delete globalThis.window;
  return modelOfCloud({ ...cloud, scales: cloud.scales.map(Math.log), alphas: cloud.alphas.map(logit),
    colors: cloud.colors.map((x) => (x - 0.5) / 0.282) });
}

// Spark gives its Gaussians away only as .spz of version 2, without a change of the frame, and only those with degree 3.
export async function readWithSpark(path) {
  const fileType = path.endsWith(".sog") ? "pcsogszip" : undefined;
  const { fileBytes } = await transcodeSpz({ inputs: [{ fileBytes: readBytes(path), pathOrUrl: path, fileType }], maxSh: 3 });
  return modelOfCloud(adobe.loadSpzFromBuffer(fileBytes, { to: adobe.CoordinateSystem.UNSPECIFIED }));
}

// The program that defined .ksplat. It holds degrees up to 2.
export function writeKsplat(model, path, level) {
  writePly(model, `${path}.ply`);
  const bytes = readBytes(`${path}.ply`);
  const splats = PlyParser.parseToUncompressedSplatArray(bytes.buffer, Math.min(model.degree, 2));
  const generator = SplatBufferGenerator.getStandardGenerator(0, level);
  writeFileSync(path, new Uint8Array(generator.generateFromUncompressedSplatArray(splats).bufferData));
}

// gsplat.js, by the authors of .splat. Colours are bytes in memory, too.
export function writeWithGsplat(model, path) {
  const colors = new Uint8Array(model.count * 4);
  const byte = (x) => Math.min(Math.max(Math.round(x * 255), 0), 255);
  const rotations = new Float32Array(model.count * 4);
  for (let i = 0; i < model.count; ++i) {
    for (let c = 0; c < 3; ++c) colors[i * 4 + c] = byte(0.5 + kSh0 * model.sh[i * model.shCount * 3 + c]);
    colors[i * 4 + 3] = byte(sigmoid(model.logit[i]));
    const q = model.rotation.subarray(i * 4, i * 4 + 4);
    for (let c = 0; c < 4; ++c) rotations[i * 4 + c] = q[c] / Math.hypot(...q);
  }
  const data = new SplatData(model.count, model.mean, rotations, model.logScale.map(Math.exp), colors);
  writeFileSync(path, data.serialize());
}

export function readWithGsplat(path) {
  const data = SplatData.Deserialize(readBytes(path));
  const model = new Model(data.vertexCount, 0);
  model.mean.set(data.positions);
  model.logScale.set(data.scales.map(Math.log));
  model.rotation.set(data.rotations);
  for (let i = 0; i < model.count; ++i) {
    for (let c = 0; c < 3; ++c) model.sh[i * 3 + c] = (data.colors[i * 4 + c] / 255 - 0.5) / kSh0;
    model.logit[i] = logit(data.colors[i * 4 + 3] / 255);
  }
  return model;
}
