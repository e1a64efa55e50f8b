// SPDX-License-Identifier: Apache-2.0
// The pictures of docs/viewer.md. They are made of the small run of the tests, or of a real one (tests/viewer/README.md).
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { contrast } from "../helpers/images.mjs";
import { afterChange, drag, helloOf, inPage, openTab, pictureOf, press, settled } from "../helpers/pages.mjs";
import { run, scene, screenshot, stipple } from "../helpers/world.mjs";

const real = process.env.STIPPLE_TOUR; // the folder of a run
const kDesk = real ? { viewport: { width: 1200, height: 720 }, colorScheme: "dark" } : {};
const training = process.env.STIPPLE_TOUR_TRAINING; // the address of a run that trains with --view

async function photograph(page, name) {
  assert.ok(contrast(await pictureOf(page)) > 10, `${name} shows something`);
  await screenshot(page, `${name}.jpg`);
}

async function served(args, act) {
  const server = await stipple.serve(...args);
  try {
    await act(server.url);
  } finally {
    await server.stop();
  }
}

suite("a tour", () => {
  test("of a model", async () => {
    await served(["view", real ?? await run()], async (url) => {
      await inPage(url, kDesk, async (page) => {
        await openTab(page, "View");
        await photograph(page, "viewer_model");
        await openTab(page, "Photos");
        const { views } = await helloOf(page);
        const view = views.filter((v) => v.is_test).at(1);
        await afterChange(page, () => page.getByRole("button", { name: view.name }).click());
        await page.waitForFunction(() => /PSNR/.test(document.querySelector("output[aria-label=Score]").textContent));
        await press(page, "Wipe");
        await page.locator(".columns img:visible").waitFor();
        await photograph(page, "viewer_photo");
        await page.keyboard.press("Escape");
        await page.keyboard.press("h");
        await settled(page);
        await page.keyboard.press("c");
        await page.locator("#picture").hover();
        await afterChange(page, () => page.mouse.wheel(0, 500));
        await photograph(page, "viewer_cameras");
      });
      await inPage(url, { viewport: { width: 390, height: 720 }, hasTouch: true, isMobile: true, colorScheme: "light" },
        async (page) => {
          await openTab(page, "View");
          await photograph(page, "viewer_phone");
        });
    });
  });

  test("of a training", async () => {
    const look = (url) => inPage(url, kDesk, async (page) => {
      await page.waitForFunction(() => document.querySelectorAll(".plot path.line").length === 3);
      await afterChange(page, () => drag(page, [0.5, 0.5], [60, 0]));
      await photograph(page, "viewer_training");
    });
    if (training) return look(training);
    return served(["train", await scene(), "-o", "toured", "--overwrite", "--steps", "1000000", "--max-gaussians", "2000",
      "--backend", "cpu", "--view"], look);
  });

  test("of a comparison", async () => {
    const other = "few.ply";
    await stipple.run("convert", real ?? await run(), other, "--sh-degree", "0");
    await served(["compare", real ?? "run", other, "--view", "--backend", "cpu"], (url) => inPage(url, kDesk, async (page) => {
      await openTab(page, "Models");
      await afterChange(page, () => press(page, "Wipe"));
      await photograph(page, "viewer_compare");
    }));
  });
});
