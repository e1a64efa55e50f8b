// SPDX-License-Identifier: Apache-2.0
// node test.mjs: runs the unit tests, src/**/*_test.ts, with node's own test runner.
import * as esbuild from "esbuild";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const folder = path.dirname(fileURLToPath(import.meta.url));
const folders = readdirSync(path.join(folder, "src"), { withFileTypes: true }).filter((entry) => entry.isDirectory());
const tests = ["src", ...folders.map((entry) => `src/${entry.name}`)].flatMap((at) =>
  readdirSync(path.join(folder, at)).filter((name) => name.endsWith("_test.ts")).map((name) => `${at}/${name}`));
const outdir = mkdtempSync(path.join(tmpdir(), "stipple-viewer-"));
let status = 1;
try {
  await esbuild.build({
    absWorkingDir: folder,
    entryPoints: tests,
    outbase: "src",
    bundle: true,
    loader: { ".glsl": "text" },
    platform: "node",
    format: "esm",
    outExtension: { ".js": ".mjs" },
    sourcemap: "inline",
    outdir,
    logLevel: "warning",
  });
  const files = tests.map((name) => path.join(outdir, name.replace(/^src\//, "").replace(/ts$/, "mjs")));
  status = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...files], {
    stdio: "inherit", env: { ...process.env, STIPPLE_SOURCE: path.dirname(folder) },
  }).status ?? 1;
} finally {
  rmSync(outdir, { recursive: true });
}
process.exit(status);
