// SPDX-License-Identifier: Apache-2.0
// cross_check.mjs STIPPLE: compares what Stipple writes and reads with what programs of others read and write, value by
// value. Ends with 77 if the packages are not installed (./setup --test).
import { execFile } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const here = dirname(fileURLToPath(import.meta.url));
if (!existsSync(join(here, "node_modules/.installed"))) {
  console.log("skipped: the packages of tests/cross_check are not installed; ./setup --test installs them");
  process.exit(77);
}
const log = console.log;  // @adobe/spz reports every file
console.log = (...words) => (String(words[0]).startsWith("[SPZ]") ? undefined : log(...words));
const others = await import("./others.mjs");
const { invalid, readGlb } = await import("./glb.mjs");
const { formats, sameFile, throughSpz } = await import("./formats.mjs");
const { flipped, mistake, randomModel } = await import("./model.mjs");
const { readPly, writePly } = await import("./ply.mjs");

const stipple = process.argv[2];
const folder = mkdtempSync(join(tmpdir(), "stipple-cross-check-"));
const execute = promisify(execFile);

async function convert(input, output, ...options) {
  try {
    await execute(stipple, ["convert", input, output, ...options]);
  } catch (error) {
    throw new Error(`stipple convert ${input} ${output}: ${error.stderr || error.message}`);
  }
}

async function readWithStipple(path, ...options) {
  await convert(path, `${path}.by_stipple.ply`, ...options);
  return readPly(`${path}.by_stipple.ply`);
}

// The frames of files, from that of a .ply (x right, y down, z forward), for readers that give the values of a file as they
// are. splat-transform writes and reads .spz as if it had the frame of a .ply, although the format's is right, up, back.
const kSpzFrame = [1, -1, -1];
const kGlbFrame = [-1, -1, 1];
const same = (model) => model;
const inFrame = (frame) => (model) => flipped(model, frame);

// Readers: what they read, and in which frame they give the model. Spark's one is wrong below degree 3: it ends with an error.
const kSplatTransform = { name: "splat-transform", read: others.readWithSplatTransform };
const kSpark = { name: "Spark", read: others.readWithSpark, degrees: [3], through: throughSpz };
const kAdobe = { name: "@adobe/spz", read: others.readWithAdobe };
const kSpzLoader = { name: "@spz-loader/core", read: others.readWithSpzLoader };
const rawSpz = (reader) => ({ ...reader, frame: inFrame(kSpzFrame) });

// Formats that Stipple writes, and who reads them.
const kWritten = [
  { format: "ply", file: "model.ply", readers: [kSplatTransform, kSpark] },
  { format: "splat", file: "model.splat", readers: [kSplatTransform, { name: "gsplat.js", read: others.readWithGsplat }],
    agree: { rotation: 0.012 } },
  { format: "compressed.ply", file: "model.compressed.ply", readers: [kSplatTransform, kSpark] },
  { format: "spz-2", file: "model.spz", options: ["--spz-version", "2"],
    readers: [kAdobe, kSpzLoader, rawSpz(kSplatTransform), rawSpz(kSpark)], agree: { rotation: 1e-3 } },
  { format: "spz-3", file: "model.spz", options: ["--spz-version", "3"],
    readers: [kAdobe, kSpzLoader, rawSpz(kSplatTransform), rawSpz(kSpark)] },
  { format: "spz-4", file: "model.spz", options: ["--spz-version", "4"], readers: [kAdobe, rawSpz(kSplatTransform)] },
  { format: "glb", file: "model.glb", invalid,
    readers: [{ name: "the specification", read: readGlb, frame: inFrame(kGlbFrame) }] },
  { format: "sog", file: "model.sog", patterns: 16, readers: [kSplatTransform, kSpark] },
  { format: "lod", file: "model/lod-meta.json", patterns: 16, readers: [kSplatTransform] },
];

// Formats that others write, and how. `frame` is what Stipple makes of the model.
const bySplatTransform = (...options) => (model, ply, path) => others.splatTransform(ply, path, ...options);
const byAdobe = (version) => (model, ply, path) => others.writeWithAdobe(model, path, version);
const byMkkellogg = (level) => (model, ply, path) => others.writeKsplat(model, path, level);
const kRead = [
  { by: "splat-transform", format: "ply", file: "other.ply", write: bySplatTransform() },
  { by: "splat-transform", format: "compressed.ply", file: "other.compressed.ply", write: bySplatTransform(),
    readers: [kSplatTransform] },
  { by: "splat-transform", format: "sog", steps: "sog by splat-transform", file: "other.sog", patterns: 16,
    write: bySplatTransform(), readers: [kSplatTransform] },
  { by: "splat-transform", format: "lod", steps: "lod by splat-transform", file: "other/lod-meta.json", patterns: 16,
    write: bySplatTransform(), readers: [kSplatTransform] },
  { by: "splat-transform", format: "spz-3", file: "other.spz", write: bySplatTransform("--spz-version", "3"),
    options: ["--from-spz-frame", "rdf"] },
  { by: "splat-transform", format: "spz-4", file: "other.spz", write: bySplatTransform("--spz-version", "4"),
    frame: inFrame(kSpzFrame), readers: [kAdobe] },
  { by: "splat-transform", format: "glb", file: "other.glb", write: bySplatTransform() },
  { by: "@adobe/spz", format: "spz-2", file: "other.spz", write: byAdobe(2), readers: [kAdobe], agree: { rotation: 1e-3 } },
  { by: "@adobe/spz", format: "spz-3", file: "other.spz", write: byAdobe(3), readers: [kAdobe] },
  { by: "@adobe/spz", format: "spz-4", file: "other.spz", write: byAdobe(4), readers: [kAdobe] },
  ...[0, 1, 2].map((level) => ({ by: "GaussianSplats3D", format: `ksplat-${level}`, file: "other.ksplat",
    write: byMkkellogg(level), readers: [kSplatTransform], degrees: [0, 1, 2] })),
  { by: "gsplat.js", format: "splat", file: "other.splat", write: (model, ply, path) => others.writeWithGsplat(model, path),
    readers: [kSplatTransform], agree: { rotation: 0.012 } },
];

const kModels = [  // Gaussians, SH degree
  [1, 3], [777, 3], [300, 2], [255, 1], [513, 0],
];

const checks = { passed: 0, failures: [] };
function check(name, wrong) {
  if (wrong) {
    checks.failures.push(`${name}: ${wrong}`);
    console.log(`FAILED ${name}: ${wrong}`);
  } else {
    checks.passed += 1;
  }
}

// The comparison must notice a difference in any field of any Gaussian, or all else means nothing.
function checkComparison() {
  const model = randomModel(100, 3, 1);
  check("comparison: a model with itself", mistake(model, model, formats.ply()));
  check("comparison: flipped twice", mistake(model, flipped(flipped(model, kSpzFrame), kSpzFrame), formats.ply()));
  for (const field of ["mean", "logScale", "rotation", "logit", "sh"])
    for (const at of [0, model[field].length - 1]) {
      const changed = Object.assign(Object.create(Object.getPrototypeOf(model)), model, { [field]: model[field].slice() });
      changed[field][at] += 0.01;
      check(`comparison: ${field} ${at}`, mistake(model, changed, formats.ply()) ? null : "the difference is not noticed");
    }
}

async function attempt(name, action) {
  try {
    check(name, await action());
  } catch (error) {
    check(name, String(error?.message ?? error).trim());
  }
}

async function checkWritten(row, model, ply, place) {
  const path = `${place}.ours.${row.format}.${row.file}`;
  const what = `${row.format}, ${model.count} Gaussians of degree ${model.degree}`;
  let own;
  await attempt(`Stipple writes ${what}`, async () => {
    await convert(ply, path, ...(row.options ?? []));
    own = await readWithStipple(path);
    return mistake(model, own, formats[row.format](path));
  });
  if (!own) return;
  if (row.invalid) await attempt(`${what} is valid`, () => row.invalid(path));
  for (const reader of row.readers) {
    if (reader.degrees && !reader.degrees.includes(model.degree)) continue;
    const frame = reader.frame ?? same;
    await attempt(`${reader.name} reads ${what} by Stipple`, async () => {
      const read = await reader.read(path);
      const steps = formats[row.format](path);
      if (reader.through) return mistake(frame(model), read, reader.through(steps));
      return mistake(frame(model), read, steps) ?? mistake(frame(own), read, { ...sameFile, ...row.agree });
    });
  }
}

async function checkRead(row, model, ply, place) {
  if (row.degrees && !row.degrees.includes(model.degree)) return;
  const path = `${place}.theirs.${row.by.replace(/\W/g, "")}.${row.format}.${row.file}`;
  const frame = row.frame ?? same;
  await attempt(`Stipple reads ${row.format}, ${model.count} Gaussians of degree ${model.degree}, by ${row.by}`, async () => {
    await row.write(model, ply, path);
    const read = await readWithStipple(path, ...(row.options ?? []));
    const wrong = mistake(frame(model), read, formats[row.steps ?? row.format](path));
    if (wrong) return wrong;
    for (const reader of row.readers ?? []) {
      const other = await reader.read(path);
      // What the program itself makes of its file; only @adobe/spz turns the frame as Stipple does.
      const expected = row.frame && reader !== kAdobe ? frame(other) : other;
      const disagreement = mistake(expected, read, { ...sameFile, ...row.agree });
      if (disagreement) return `unlike ${reader.name}, ${disagreement}`;
    }
    return null;
  });
}

async function main() {
  checkComparison();
  const only = process.argv[3];  // a format, to look into one
  const tasks = [];
  for (const [count, degree] of kModels) {
    const variant = (patterns) => {
      const model = randomModel(count, degree, 10 * count + degree, Math.min(patterns, count));
      const ply = join(folder, `${count}_${degree}_${patterns}.ply`);
      writePly(model, ply);
      return [model, ply, ply.slice(0, -4)];
    };
    const variants = new Map([[count, variant(count)], [16, variant(16)]]);
    for (const row of kWritten)
      if (!only || row.format.startsWith(only)) tasks.push(() => checkWritten(row, ...variants.get(row.patterns ?? count)));
    for (const row of kRead)
      if (!only || row.format.startsWith(only)) tasks.push(() => checkRead(row, ...variants.get(row.patterns ?? count)));
  }
  const worker = async () => {
    for (let task = tasks.shift(); task; task = tasks.shift()) await task();
  };
  await Promise.all([worker(), worker()]);
}

try {
  await main();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${checks.passed} checks passed, ${checks.failures.length} failed`);
process.exit(checks.failures.length ? 1 : 0);
