// SPDX-License-Identifier: Apache-2.0
// The page of a build without npm. This build may have the full one, so that the browser is given the file; everything else
// comes from the server.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import { contrast, difference } from "../helpers/images.mjs";
import { drag } from "../helpers/pages.mjs";
import { decodePng } from "../helpers/png.mjs";
import { openPage, scene, screenshot, stipple } from "../helpers/world.mjs";

suite("the plain page", () => {
  let server;
  before(async () => {
    server = await stipple.serve("train", await scene(), "-o", "plain", "--overwrite", "--steps", "1000000",
      "--max-gaussians", "1000", "--backend", "cpu", "--view", "--view-budget", "0.5");
  });
  after(() => server.stop());

  test("it shows the streamed picture, and pauses the training", async () => {
    const page = await openPage(null, { viewport: { width: 960, height: 480 } });
    const html = await readFile(new URL("../../../viewer/plain.html", import.meta.url), "utf8");
    await page.route(server.url, (route) => route.fulfill({ contentType: "text/html; charset=utf-8", body: html }));
    await page.goto(server.url);
    const picture = async () => decodePng(await page.locator("#picture").screenshot());
    const until = async (holds) => { // the picture arrives when it may
      for (;;) {
        const seen = await picture();
        if (holds(seen)) return seen;
      }
    };
    await page.locator("button[data-command=pause]").click();
    await page.getByText(/paused/).waitFor();
    const start = await until((seen) => contrast(seen) > 10);
    await drag(page, [0.5, 0.5], [100, 0]);
    await until((seen) => difference(seen, start) > 0.1);
    await screenshot(page, "plain");
    assert.deepEqual(page.faults.filter((fault) => !fault.startsWith("request: ")), []);
    await page.context().close();
  });
});
