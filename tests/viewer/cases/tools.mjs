// SPDX-License-Identifier: Apache-2.0
// Measuring, cropping, removing and camera paths; and that what they write is what the command takes.
import assert from "node:assert/strict";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { after, before, suite, test } from "node:test";
import { difference, psnr } from "../helpers/images.mjs";
import {
  afterChange, button, cameraOf, downloaded, drag, inPage, numberIn, openTab, output, pictureOf, press, rendered, settled,
} from "../helpers/pages.mjs";
import { decodePng } from "../helpers/png.mjs";
import { inFolder, run, screenshot, stipple } from "../helpers/world.mjs";

// The value in the middle of an array of 32-bit floats in a .npy file.
function middleOfNpy(path, width, height) {
  const file = readFileSync(path);
  const start = 10 + file.readUInt16LE(8);
  return file.readFloatLE(start + 4 * (Math.floor(height / 2) * width + Math.floor(width / 2)));
}

const inCamera = ({ camera_from_world: m }, p) => m.map((row) => row[0] * p[0] + row[1] * p[1] + row[2] * p[2] + row[3]);

suite("tools", () => {
  let server;
  before(async () => {
    server = await stipple.serve("view", await run());
  });
  after(() => server.stop());

  async function useTool(page, name) {
    await openTab(page, "Tools");
    await settled(page);
    const tool = page.getByRole("group", { name: "Tools" }).getByRole("button", { name });
    if (await tool.getAttribute("aria-pressed") === "false") await tool.click();
  }
  const countOf = async (model) => JSON.parse(await stipple.run("info", model, "--json")).count;

  test("a measured point lies on the surface, and a known length sets the unit", () => inPage(server.url, {}, async (page) => {
    const camera = await cameraOf(page);
    await useTool(page, "Measure");
    await press(page, "Point in the middle");
    const points = page.locator(".coordinates li");
    const first = (await points.nth(0).textContent()).split(",").map(Number);
    const [x, y, z] = inCamera(camera, first);
    assert.ok(Math.abs(x / z) < 1e-3 && Math.abs(y / z) < 1e-3, "in the middle");
    await rendered("run", camera, "--depth", "depth.npy");
    const depth = middleOfNpy(inFolder("depth.npy"), camera.width, camera.height);
    assert.ok(Math.abs(z - depth) < 0.1 * depth, `${z} is not ${depth}`);

    const box = await page.locator("#picture").boundingBox();
    await page.mouse.click(box.x + 0.7 * box.width, box.y + 0.6 * box.height);
    const second = (await points.nth(1).textContent()).split(",").map(Number);
    const distance = Math.hypot(...first.map((v, i) => v - second[i]));
    const shown = output(page, "Distance");
    assert.ok(Math.abs(await numberIn(shown) - distance) < 2e-3 * distance, await shown.textContent());
    await page.getByLabel("This is so many metres").fill("2.5");
    await page.getByLabel("This is so many metres").press("Enter");
    assert.equal(await shown.textContent(), "2.5 m");
    await screenshot(page, "tool_measure");
  }));

  test("stipple convert --crop cuts where the box is", () => inPage(server.url, {}, async (page) => {
    const whole = await pictureOf(page);
    await useTool(page, "Crop");
    await page.getByLabel("Size x").fill("1.5");
    await page.getByLabel("Size x").press("Enter");
    await page.getByLabel("Turn about y in degrees").fill("30");
    await afterChange(page, () => page.getByLabel("Turn about y in degrees").press("Enter"));
    await screenshot(page, "tool_crop");
    const box = await page.getByLabel("Box, as numbers").inputValue();
    assert.equal(box.split(",").length, 10);
    const camera = await cameraOf(page); // which hides the handles
    const cropped = await pictureOf(page);
    assert.ok(difference(cropped, whole) > 0.05);
    await stipple.run("convert", "run", "cropped.ply", `--crop=${box}`);
    assert.ok(await countOf("cropped.ply") < await countOf("run"));
    const agreement = psnr(cropped, await rendered("cropped.ply", camera));
    assert.ok(agreement > 38, `${agreement} dB`);
  }));

  test("what the brush removes can be had back, and is not in the file that is saved", () => inPage(server.url, {}, async (page) => {
    rmSync(inFolder("run/edited.ply"), { force: true });
    const camera = await cameraOf(page);
    const whole = await pictureOf(page);
    await useTool(page, "Brush");
    await page.getByLabel("Radius in pixels").fill("40");
    await page.getByLabel("Radius in pixels").press("Enter");
    await afterChange(page, () => drag(page, [0.4, 0.5], [120, 10]));
    const selected = await numberIn(output(page, "Selected Gaussians"));
    assert.ok(selected > 20, `${selected} selected`);
    await screenshot(page, "tool_brush");
    await afterChange(page, () => page.keyboard.press("Delete"));
    const state = page.getByText(/deleted, .* left/);
    const all = await countOf("run");
    const expected = `${selected.toLocaleString("en")} deleted, ${(all - selected).toLocaleString("en")} left`;
    assert.equal(await state.textContent(), expected);
    await openTab(page, "View"); // without the circle of the brush
    const removed = await pictureOf(page);
    assert.ok(difference(removed, whole) > 0.01);
    await openTab(page, "Tools");
    await afterChange(page, () => press(page, "Undo")); // the removal
    await afterChange(page, () => press(page, "Undo")); // the stroke
    await openTab(page, "View");
    assert.ok(psnr(await pictureOf(page), whole) > 50);
    await openTab(page, "Tools");
    await afterChange(page, () => press(page, "Redo"));
    await afterChange(page, () => press(page, "Redo"));

    await page.getByLabel("Name of the file").fill("edited.ply");
    await press(page, "Save");
    await page.getByText(`edited.ply has ${(all - selected).toLocaleString("en")} Gaussians.`).waitFor();
    assert.equal(await countOf("run/edited.ply"), all - selected);
    const agreement = psnr(removed, await rendered("run/edited.ply", camera));
    assert.ok(agreement > 38, `${agreement} dB`);
    await press(page, "Save");
    await page.getByText("already exists").waitFor();
    assert.ok(await button(page, "Overwrite it").isVisible());
    page.faults = page.faults.filter((fault) => !/409/.test(fault)); // which the browser reports
  }));

  test("a path is played as it was made, and stipple render --path follows it", () => inPage(server.url, {}, async (page) => {
    await useTool(page, "Path");
    const pictures = [];
    for (const move of [0, 60, 60]) {
      if (move) await afterChange(page, () => drag(page, [0.5, 0.5], [move, -20]));
      await press(page, "Add this view");
      await openTab(page, "View"); // without the lines of the path
      pictures.push(await pictureOf(page));
      await openTab(page, "Tools");
    }
    await page.getByLabel("Frames per second").fill("2");
    await page.getByLabel("Frames per second").press("Enter");
    await page.getByText("3 key frames, 4 s, 9 frames.").waitFor();
    await screenshot(page, "tool_path");
    const { name, bytes } = await downloaded(page, () => press(page, "Save path"));
    assert.equal(name, "run_path.json");
    writeFileSync(inFolder("path.json"), bytes);
    rmSync(inFolder("frames"), { recursive: true, force: true });
    await stipple.run("render", "run", "--path", "path.json", "-o", "frames", "--backend", "cpu");
    const frames = readdirSync(inFolder("frames")).filter((file) => file.endsWith(".png")).sort();
    assert.equal(frames.length, 9);
    for (const [i, picture] of pictures.entries()) {
      const agreement = psnr(picture, decodePng(readFileSync(inFolder(`frames/${frames[4 * i]}`))));
      assert.ok(agreement > 36, `key frame ${i}: ${agreement} dB`);
    }

    await press(page, "Delete key frame 3");
    await page.getByText("2 key frames, 2 s, 5 frames.").waitFor();
    await page.getByLabel("Path file").setInputFiles(inFolder("path.json"));
    await page.getByText("3 key frames, 4 s, 9 frames.").waitFor();
    writeFileSync(inFolder("broken.json"), "{}");
    await page.getByLabel("Path file").setInputFiles(inFolder("broken.json"));
    await page.getByText(/broken.json cannot be used/).waitFor();
    await afterChange(page, () => press(page, "Go to key frame 1"));
    await press(page, "Play");
    await button(page, "Stop").waitFor();
    await button(page, "Play").waitFor(); // at its end
    const { camera_from_world: m } = await cameraOf(page);
    const last = JSON.parse(bytes).keyframes[2].camera.camera_from_world;
    assert.ok(Math.abs(m[0][3] - last[0][3]) < 1e-3 && Math.abs(m[2][3] - last[2][3]) < 1e-3, "at the last key frame");
  }));
});
