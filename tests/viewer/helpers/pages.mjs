// SPDX-License-Identifier: Apache-2.0
// What tests do with a page of the viewer.
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { decodePng } from "./png.mjs";
import { inFolder, openPage, stipple } from "./world.mjs";

// Opens the page and runs the test in it; whatever the test does, the page must have no fault.
export async function inPage(url, options, act) {
  const page = await openPage(url, options);
  try {
    await act(page);
    assert.deepEqual(page.faults, []);
  } finally {
    await page.context().close();
  }
}

// The server's first message.
export async function helloOf(page) {
  await page.locator("#picture").waitFor();
  return page.socketMessages.find((message) => message.type === "hello");
}

export const settled = (page) => page.locator("#picture[data-settled=true]").waitFor();

// Resolves when the picture is final again after it has changed because of this.
export async function afterChange(page, act) {
  await settled(page);
  const before = await page.evaluate(() => window.settledCount);
  await act();
  await page.waitForFunction(
    (count) => window.settledCount > count && document.querySelector("#picture").dataset.settled === "true", before);
}

// What is seen where the picture is, with everything that is drawn over it.
export async function pictureOf(page) {
  await settled(page);
  return decodePng(await page.locator("#picture").screenshot());
}

// The panel is closed at first where there is little room.
export async function openTab(page, name) {
  if (await page.locator("#panel").isHidden()) await page.keyboard.press("p");
  await page.getByRole("tab", { name, exact: true }).click();
}

export const button = (page, name) => page.getByRole("button", { name, exact: true });
export const press = (page, name) => button(page, name).click();
export const output = (page, name) => page.locator(`output[aria-label="${name}"]`);
export const numberIn = async (locator) => Number((await locator.textContent()).replace(/[^\d.]/g, ""));

export async function downloaded(page, act) {
  const [download] = await Promise.all([page.waitForEvent("download"), act()]);
  return { name: download.suggestedFilename(), bytes: await readFile(await download.path()) };
}

// The camera of the picture, as the page saves it.
export async function cameraOf(page) {
  await openTab(page, "View");
  await settled(page);
  return JSON.parse((await downloaded(page, () => press(page, "Save camera"))).bytes);
}

// What the command renders of the model from this camera.
export async function rendered(model, camera, ...flags) {
  await writeFile(inFolder("camera.json"), JSON.stringify(camera));
  await stipple.run("render", model, "--camera", "camera.json", "-o", "rendered.png", "--backend", "cpu", ...flags);
  return decodePng(await readFile(inFolder("rendered.png")));
}

export async function drag(page, [x, y], [dx, dy], options) {
  const box = await page.locator("#picture").boundingBox();
  await page.mouse.move(box.x + x * box.width, box.y + y * box.height);
  await page.mouse.down(options);
  await page.mouse.move(box.x + x * box.width + dx, box.y + y * box.height + dy, { steps: 4 });
  await page.mouse.up(options);
}
