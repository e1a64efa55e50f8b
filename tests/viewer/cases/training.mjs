// SPDX-License-Identifier: Apache-2.0
// A run that is watched while it trains.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { after, before, suite, test } from "node:test";
import { contrast, difference, psnr } from "../helpers/images.mjs";
import {
  afterChange, button, cameraOf, drag, helloOf, inPage, numberIn, openTab, output, pictureOf, press, rendered, settled,
} from "../helpers/pages.mjs";
import { decodePng } from "../helpers/png.mjs";
import { inFolder, openPage, scene, screenshot, stipple } from "../helpers/world.mjs";

suite("training", () => {
  let server;
  before(async () => {
    server = await stipple.serve("train", await scene(), "-o", "live", "--overwrite", "--steps", "1000000",
      "--max-gaussians", "2000", "--backend", "cpu", "--eval", "--eval-every", "100", "--view");
  });
  after(() => server.stop());

  const stepOf = (page) => numberIn(page.locator("#step"));
  const waitForStep = (page, least) => page.waitForFunction(
    (n) => Number(document.querySelector("#step")?.textContent.replace(/\D/g, "")) >= n, least);
  const waitForState = (page, state) => page.waitForFunction(
    (wanted) => document.querySelector("#training-state")?.textContent === wanted, state);
  const plotsOf = (page) => page.locator(".plot path.line").evaluateAll((lines) => lines.map((line) => line.getAttribute("d")));

  test("the numbers and the plots move", () => inPage(server.url, {}, async (page) => {
    await waitForStep(page, 60);
    const step = await stepOf(page), plots = await plotsOf(page);
    assert.equal(plots.length, 3);
    await waitForStep(page, step + 60);
    await page.waitForFunction((old) => [...document.querySelectorAll(".plot path.line")].every(
      (line, i) => line.getAttribute("d") !== old[i]), plots);
    for (const name of ["Speed", "Gaussians", "PSNR", "Loss", "Watching"]) {
      assert.match(await output(page, name).textContent(), /\d/, name);
    }
    assert.ok(await numberIn(output(page, "PSNR")) > 5);
    await waitForStep(page, 120);
    await page.locator(".plot circle.dot").first().waitFor(); // an evaluation of held-out photos
    assert.match(await page.title(), /^\d+ % – live – Stipple$/);
    await screenshot(page, "training_small");
  }));

  test("pausing stops the steps until it is resumed, and shows the model as it is", () => inPage(server.url, {}, async (page) => {
    await waitForStep(page, 10);
    await press(page, "Pause");
    await waitForState(page, "Paused");
    const step = await stepOf(page);
    // A picture from before the pause may be there; one from another place is of the model as it is now.
    await afterChange(page, () => drag(page, [0.5, 0.5], [30, 0]));
    const camera = await cameraOf(page);
    const seen = await pictureOf(page);
    await openTab(page, "Training");
    await press(page, "Save");
    await page.locator(".toast", { hasText: `saved at step ${step}` }).waitFor();
    await waitForState(page, "Paused");
    const agreement = psnr(seen, await rendered("live", camera));
    assert.ok(agreement > 32, `${agreement} dB`);
    assert.equal(await stepOf(page), step);
    await press(page, "Resume");
    await waitForState(page, "Training");
    await waitForStep(page, step + 20);
    await page.locator("#picture").press(" ");
    await waitForState(page, "Paused");
    await page.locator("#picture").press(" ");
    await waitForState(page, "Training");
  }));

  test("moving the camera moves the picture", () => inPage(server.url, {}, async (page) => {
    const before = await pictureOf(page);
    assert.ok(contrast(before) > 10);
    await afterChange(page, () => drag(page, [0.5, 0.5], [120, 0]));
    assert.ok(difference(await pictureOf(page), before) > 0.1);
  }));

  test("a second visitor is served, and one who vanishes stops nothing", () => inPage(server.url, {}, async (page) => {
    const other = await openPage(server.url);
    await settled(other);
    await waitForStep(other, await stepOf(page));
    await page.bringToFront();
    await other.context().close(); // without a farewell
    const step = await stepOf(page);
    await waitForStep(page, step + 20);
    await settled(page);
    assert.ok(server.isRunning);
  }));

  test("the photo of a camera can be compared while the model changes", () => inPage(server.url, {}, async (page) => {
    await openTab(page, "Photos");
    const { views } = await helloOf(page);
    await page.getByRole("button", { name: views[1].name }).click();
    await page.waitForFunction(() => /PSNR/.test(document.querySelector("output[aria-label=Score]").textContent));
    await press(page, "Photo");
    await page.locator(".columns img:visible").waitFor();
  }));

  test("a hidden page asks for nothing", () => inPage(server.url, {}, async (page) => {
    await settled(page);
    const asked = () => page.socketMessages.filter((message) => message.from === "page");
    await page.evaluate(() => {
      Object.defineProperty(document, "hidden", { value: true });
      dispatchEvent(new Event("visibilitychange"));
    });
    while (!asked().some((message) => message.type === "rest")) await page.waitForTimeout(20);
    const count = asked().length;
    await waitForStep(page, await stepOf(page) + 20); // the numbers go on, for the title
    assert.equal(asked().slice(count).filter((message) => message.type === "camera").length, 0);
  }));

  test("stopping asks first, saves, and leaves the last picture in the page", () => inPage(
    server.url, {}, async (page) => {
      await settled(page);
      await waitForStep(page, await stepOf(page) + 5);
      await screenshot(page, "training");
      await press(page, "Stop");
      await page.getByRole("dialog").waitFor();
      await screenshot(page, "training_stop");
      await press(page, "Keep training");
      const step = await stepOf(page);
      await waitForStep(page, step + 5);
      await press(page, "Stop");
      await press(page, "Stop and save");
      await waitForState(page, "Finished");
      assert.equal(await server.ended, 0);
      await page.getByText("The server has ended; this is the last picture.").waitFor();
      assert.ok(existsSync(inFolder("live/model.ply")));
      assert.ok(contrast(decodePng(await page.locator("#picture").screenshot())) > 10, "the last picture is there");
      assert.ok(await button(page, "Pause").isDisabled(), "there is nothing to pause");
      assert.ok(page.faults.every((fault) => /WebSocket|ERR_CONNECTION_REFUSED/.test(fault)), page.faults.join());
      page.faults.length = 0; // the browser itself tells of the lost connection
    }));
});
