// SPDX-License-Identifier: Apache-2.0
// Two models side by side.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { contrast, difference, psnr } from "../helpers/images.mjs";
import { afterChange, cameraOf, drag, helloOf, inPage, openTab, pictureOf, press, rendered } from "../helpers/pages.mjs";
import { run, screenshot, stipple } from "../helpers/world.mjs";

const kLabelPx = 44; // the rows with the names of the models

// The columns from `left` to `right`, below the names.
function part(image, left, right) {
  const width = right - left, height = image.height - kLabelPx, rgb = new Uint8Array(3 * width * height);
  for (let y = 0; y < height; ++y) {
    const row = (y + kLabelPx) * image.width;
    rgb.set(image.rgb.subarray(3 * (row + left), 3 * (row + right)), 3 * y * width);
  }
  return { width, height, rgb };
}

suite("comparing", () => {
  let server;
  before(async () => {
    await stipple.run("convert", await run(), "coarse.ply", "--max-gaussians", "500");
    server = await stipple.serve("compare", "run", "coarse.ply", "--view", "--scene", "scene", "--backend", "cpu");
  });
  after(() => server.stop());

  test("both models are seen with one camera", () => inPage(server.url, {}, async (page) => {
    const camera = await cameraOf(page);
    await openTab(page, "Models");
    const seen = await pictureOf(page);
    assert.equal(seen.width, 2 * camera.width);
    const halves = [part(seen, 0, camera.width), part(seen, camera.width, seen.width)];
    for (const [i, model] of ["run", "coarse.ply"].entries()) {
      const agreement = psnr(halves[i], part(await rendered(model, camera), 0, camera.width));
      assert.ok(agreement > 32, `${model}: ${agreement} dB`);
    }
    assert.ok(difference(...halves) > 0.1);
    await afterChange(page, () => drag(page, [0.25, 0.5], [50, 0]));
    const moved = await pictureOf(page);
    assert.ok(difference(part(moved, 0, camera.width), halves[0]) > 0.1, "the first moves");
    assert.ok(difference(part(moved, camera.width, seen.width), halves[1]) > 0.1, "and the second with it");
    await screenshot(page, "compare_both");
  }));

  test("one of them, a wipe, and their difference", () => inPage(server.url, {}, async (page) => {
    const pictures = {};
    for (const layout of ["First", "Second", "Difference", "Wipe"]) {
      await afterChange(page, () => press(page, layout));
      pictures[layout] = await pictureOf(page);
      await screenshot(page, `compare_${layout.toLowerCase()}`);
    }
    assert.ok(difference(pictures.First, pictures.Second) > 0.1);
    assert.ok(contrast(pictures.Difference) > 2 && difference(pictures.Difference, pictures.First) > 0.3);
    const middle = Math.floor(pictures.Wipe.width / 2);
    const left = (image) => part(image, 0, middle - 30), right = (image) => part(image, middle + 30, image.width);
    assert.ok(psnr(left(pictures.Wipe), left(pictures.First)) > 25, "the first on the left");
    assert.ok(psnr(right(pictures.Wipe), right(pictures.Second)) > 25, "the second on the right");
  }));

  test("the scores of both against a photo", () => inPage(
    server.url, {}, async (page) => {
      await openTab(page, "Photos");
      const { views } = await helloOf(page);
      const view = views.find((v) => v.is_test);
      await afterChange(page, () => page.getByRole("button", { name: view.name }).click());
      await page.waitForFunction(() => document.querySelectorAll("output[aria-label=Score] [data-model]").length === 2);
      const scores = await page.locator("[data-model]").allTextContents();
      const [first, second] = scores.map((text) => Number(/PSNR ([\d.]+) dB/.exec(text)[1]));
      const { views: expected } = JSON.parse(await stipple.run("eval", "run", "scene", "--backend", "cpu", "--json"));
      assert.ok(Math.abs(first - expected.find((v) => v.name === view.name).psnr) < 0.006, scores.join());
      assert.ok(second < first - 0.5, scores.join());
      await screenshot(page, "compare_photo");
    }));
});
