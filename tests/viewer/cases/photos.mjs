// SPDX-License-Identifier: Apache-2.0
// The photos of a scene: their cameras in the picture, looking through them, and comparing.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { contrast, difference, psnr } from "../helpers/images.mjs";
import { afterChange, cameraOf, helloOf, inPage, openTab, output, pictureOf, press, settled } from "../helpers/pages.mjs";
import { decodePng } from "../helpers/png.mjs";
import { run, screenshot, stipple } from "../helpers/world.mjs";

suite("photos", () => {
  let server;
  before(async () => {
    server = await stipple.serve("view", await run());
  });
  after(() => server.stop());

  const look = (page, name) => afterChange(page, () => page.getByRole("button", { name }).click());

  test("the list can be searched, and tells which photos are held out", () => inPage(server.url, {}, async (page) => {
    await openTab(page, "Photos");
    const listed = page.locator(".photos li:visible");
    const { views } = await helloOf(page);
    assert.equal(await listed.count(), views.length);
    await press(page, "Held out");
    const heldOut = views.filter((view) => view.is_test).map((view) => view.name);
    assert.deepEqual(await listed.locator(".name").allTextContents(), heldOut);
    await page.getByRole("searchbox").fill(heldOut[1]);
    assert.deepEqual(await listed.locator(".name").allTextContents(), [heldOut[1]]);
    assert.equal(await output(page, "Photos listed").textContent(), "1 photo");
  }));

  test("through a camera, the picture lies on the photo, and the score is that of eval", () => inPage(server.url, {}, async (page) => {
    await openTab(page, "Photos");
    const view = (await helloOf(page)).views.find((v) => v.is_test);
    await look(page, view.name);
    const camera = await cameraOf(page);
    for (let row = 0; row < 3; ++row) {
      for (let i = 0; i < 4; ++i) {
        assert.ok(Math.abs(camera.camera_from_world[row][i] - view.camera.camera_from_world[row][i]) < 1e-4);
      }
    }
    assert.ok(Math.abs(camera.width / camera.height - view.camera.width / view.camera.height) < 0.01);

    const model = await pictureOf(page);
    await press(page, "Photo");
    await page.locator(".columns img:visible").waitFor();
    const photo = decodePng(await page.locator("#picture").screenshot());
    const likeness = psnr(model, photo);
    assert.ok(likeness > 14 && likeness < 45, `the model resembles the photo: ${likeness} dB`);
    await screenshot(page, "photo");

    const score = output(page, "Score");
    await page.waitForFunction(() => /PSNR/.test(document.querySelector("output[aria-label=Score]").textContent));
    const [, seen] = /PSNR ([\d.]+) dB/.exec(await score.textContent());
    const { views } = JSON.parse(await stipple.run("eval", "run", "scene", "--backend", "cpu", "--json"));
    const expected = views.find((v) => v.name === view.name).psnr;
    assert.ok(Math.abs(Number(seen) - expected) < 0.006, `${seen} is not ${expected}`);
  }));

  test("wiping, blinking and the map of errors compare with the photo", () => inPage(server.url, {}, async (page) => {
    await openTab(page, "Photos");
    await look(page, (await helloOf(page)).views[2].name);
    const model = await pictureOf(page);
    await press(page, "Photo");
    await page.locator(".columns img:visible").waitFor();
    const photo = decodePng(await page.locator("#picture").screenshot());

    await press(page, "Wipe");
    const wipe = page.getByRole("slider", { name: "Photo from here on" });
    await wipe.press("End"); // all of the model
    assert.ok(difference(decodePng(await page.locator("#picture").screenshot()), model) < 0.05, "the model on the left");
    await wipe.press("Home");
    assert.ok(difference(decodePng(await page.locator("#picture").screenshot()), photo) < 0.05, "the photo on the right");
    for (let i = 0; i < 25; ++i) await wipe.press("ArrowRight");
    assert.equal(await wipe.getAttribute("aria-valuenow"), "50");
    await screenshot(page, "photo_wipe");

    await press(page, "Error");
    await page.locator(".columns canvas:visible").waitFor();
    const errors = decodePng(await page.locator("#picture").screenshot());
    assert.ok(contrast(errors) > 3 && difference(errors, model) > 0.3 && difference(errors, photo) > 0.3);
    await screenshot(page, "photo_error");

    await press(page, "Blink");
    const isHidden = (value) => page.waitForFunction(
      (wanted) => (document.querySelector(".columns").style.visibility === "hidden") === wanted, value);
    await isHidden(true);
    await isHidden(false);

    await page.keyboard.press("Escape");
    await page.locator(".bar").waitFor({ state: "hidden" });
  }));

  test("cameras are drawn, and a click on one looks through it", () => inPage(server.url, {}, async (page) => {
    await settled(page);
    const box = await page.locator("#picture").boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await afterChange(page, () => page.mouse.wheel(0, 400)); // farther away, to see them
    const before = await pictureOf(page);
    await page.keyboard.press("c");
    await page.waitForFunction(() => {
      const canvas = document.querySelector("canvas.overlay");
      return canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value > 0);
    });
    assert.ok(difference(await pictureOf(page), before) > 0.005, "they are seen");
    await screenshot(page, "cameras");

    // The place of a camera, as the page projects it.
    const seen = await cameraOf(page);
    const inPicture = (await helloOf(page)).views.map(({ name, camera: { camera_from_world: m } }) => {
      const at = [0, 1, 2].map((i) => -(m[0][i] * m[0][3] + m[1][i] * m[1][3] + m[2][i] * m[2][3]));
      const [x, y, z] = seen.camera_from_world.map((r) => r[0] * at[0] + r[1] * at[1] + r[2] * at[2] + r[3]);
      return { name, z, u: (seen.fx * x) / z + seen.cx, v: (seen.fy * y) / z + seen.cy };
    }).filter(({ z, u, v }) => z > 0 && u > 20 && u < seen.width - 20 && v > 60 && v < seen.height - 60);
    inPicture.sort((a, b) => a.z - b.z);
    const { name, u, v } = inPicture[0];
    await page.mouse.move(box.x + u, box.y + v);
    await page.locator(".frustum-label:visible").waitFor();
    const label = await page.locator(".frustum-label").textContent();
    await afterChange(page, () => page.mouse.click(box.x + u, box.y + v));
    const shown = await page.locator(".photo-name").textContent();
    assert.ok(label.startsWith(shown), `${label}: ${shown}`);
    assert.equal(shown, name);
  }));
});
