// SPDX-License-Identifier: Apache-2.0
// What the tests share: the command in a folder of its own, a small scene, a run of it, and one browser.
import { mkdirSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { after } from "node:test";
import { launch, visit } from "./browser.mjs";
import { Stipple } from "./stipple.mjs";

const kFolder = resolve(process.env.STIPPLE_FOLDER);
const kScreenshots = resolve(process.env.STIPPLE_SCREENSHOTS);

mkdirSync(kFolder, { recursive: true });
mkdirSync(kScreenshots, { recursive: true });

export const stipple = new Stipple(process.env.STIPPLE_PROGRAM, kFolder);
export const inFolder = (name) => join(kFolder, name);

let browser;
export const openPage = async (url, options) => visit(await (browser ??= launch()), url, options);

after(async () => {
  await stipple.stopAll();
  await (await browser)?.close();
});

const once = (make) => {
  let made;
  return () => (made ??= make());
};

// Photos of 160x120, and a model of 5,000 Gaussians that resembles them.
export const scene = once(async () => {
  rmSync(inFolder("scene"), { recursive: true, force: true });
  await stipple.run("synth", "-o", "scene", "--views", "20", "--size", "160x120");
  return "scene";
});

export const run = once(async () => {
  await stipple.run("train", await scene(), "-o", "run", "--overwrite", "--eval", "--steps", "800", "--max-gaussians", "5000",
    "--sh-rest-rate", "0.003", "--backend", "cpu");
  return "run";
});

// .png unless the name says .jpg.
export const screenshot = (page, name) => name.endsWith(".jpg")
  ? page.screenshot({ path: join(kScreenshots, name), type: "jpeg", quality: 85 })
  : page.screenshot({ path: join(kScreenshots, `${name}.png`) });
