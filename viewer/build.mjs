// SPDX-License-Identifier: Apache-2.0
// node build.mjs PAGE [DEPFILE]: bundles src/main.ts, style.css and index.html into one HTML file that needs nothing else,
// and writes which files it is made of in the form that make and ninja read.
import * as esbuild from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";

const folder = path.dirname(fileURLToPath(import.meta.url));
const [page, depfile] = process.argv.slice(2);
if (!page) {
  console.error("usage: node build.mjs PAGE [DEPFILE]");
  process.exit(2);
}

const common = {
  absWorkingDir: folder,
  bundle: true,
  minify: true,
  charset: "utf8",
  write: false,
  metafile: true,
  loader: { ".glsl": "text" },
  target: ["chrome110", "firefox115", "safari16.4"],
  logLevel: "warning",
};
const [script, style, template] = await Promise.all([
  esbuild.build({ ...common, entryPoints: ["src/main.ts"], format: "esm", legalComments: "inline" }),
  esbuild.build({ ...common, entryPoints: ["style.css"] }),
  readFile(path.join(folder, "index.html"), "utf8"),
]);

// esbuild writes "</script" as "<\/script" and "</style" likewise. "<!--" would hide a later end of the script; it can only
// be in strings, templates and regular expressions, where \x3C means the same.
const scriptText = script.outputFiles[0].text.replaceAll("<!--", "\\x3C!--");
const inputs = [...Object.keys(script.metafile.inputs), ...Object.keys(style.metafile.inputs)];
const parts = {
  "/* style.css */": style.outputFiles[0].text.trim(),
  "/* main.ts */": scriptText.trim(),
  "<!-- licences -->": await licences(inputs),
};
let html = template;
for (const [mark, text] of Object.entries(parts)) {
  if (html.split(mark).length !== 2) throw new Error(`index.html must have '${mark}' once`);
  html = html.replace(mark, () => text);
}
await writeFile(page, html);

if (depfile) {
  const files = [...inputs.map((file) => path.join(folder, file)), path.join(folder, "index.html")];
  const escaped = files.map((file) => file.replace(/[ #$\\]/g, (c) => (c === "$" ? "$$" : `\\${c}`)));
  await writeFile(depfile, `${page.replace(/ /g, "\\ ")}: ${escaped.join(" \\\n  ")}\n`);
}

// The licences of the packages whose code is in the page, and of those that they depend on, whose code they may contain; as
// text for HTML.
async function licences(files) {
  const packages = new Set();
  for (const file of files) {
    const match = /(?:^|\/)node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file);
    if (match) packages.add(match[1]);
  }
  const texts = new Map();
  for (const name of packages) { // a set that grows meanwhile
    const at = path.join(folder, "node_modules", name);
    const { version, dependencies } = JSON.parse(await readFile(path.join(at, "package.json"), "utf8"));
    texts.set(name, `${name} ${version}\n\n${(await readFile(path.join(at, "LICENSE"), "utf8")).trim()}\n`);
    for (const other of Object.keys(dependencies ?? {})) packages.add(other);
  }
  return [...texts.keys()].sort().map((name) => texts.get(name)).join("\n\n").replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
