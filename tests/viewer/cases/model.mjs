// SPDX-License-Identifier: Apache-2.0
// A finished model that the visitor's browser draws.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import { contrast, difference, psnr } from "../helpers/images.mjs";
import {
  afterChange, cameraOf, downloaded, drag, helloOf, inPage, openTab, output, pictureOf, press, rendered, settled,
} from "../helpers/pages.mjs";
import { decodePng } from "../helpers/png.mjs";
import { inFolder, run, screenshot, stipple } from "../helpers/world.mjs";

suite("a model", () => {
  let server;
  before(async () => {
    server = await stipple.serve("view", await run());
  });
  after(() => server.stop());

  test("it looks as stipple render draws it", () => inPage(server.url, {}, async (page) => {
    const seen = await pictureOf(page);
    assert.ok(contrast(seen) > 20, "something is seen");
    const agreement = psnr(seen, await rendered("run", await cameraOf(page)));
    assert.ok(agreement > 40, `${agreement} dB`);
  }));

  test("drags, the wheel and keys move the camera, and Home brings it back", () => inPage(server.url, {}, async (page) => {
    const start = await pictureOf(page);
    const moves = {
      "a drag": () => drag(page, [0.5, 0.5], [80, 20]),
      "a drag with the right button": () => drag(page, [0.5, 0.5], [60, 0], { button: "right" }),
      "the wheel": async () => {
        await page.mouse.move(320, 240);
        await page.mouse.wheel(0, 240);
      },
      "an arrow": () => page.locator("#picture").press("ArrowLeft", { delay: 120 }),
      "w": () => page.locator("#picture").press("w", { delay: 120 }),
    };
    for (const [name, move] of Object.entries(moves)) {
      const from = await pictureOf(page);
      await afterChange(page, move);
      assert.ok(difference(await pictureOf(page), from) > 0.05, name);
    }
    await afterChange(page, () => page.keyboard.press("h"));
    assert.ok(psnr(await pictureOf(page), start) > 45, "the start again");
  }));

  test("flying turns the head, and walking stays on the ground", () => inPage(server.url, {}, async (page) => {
    const place = async () => {
      const { camera_from_world: m } = await cameraOf(page);
      return [0, 1, 2].map((i) => -(m[0][i] * m[0][3] + m[1][i] * m[1][3] + m[2][i] * m[2][3]));
    };
    const { up } = (await helloOf(page)).bounds;
    const height = (p) => p.reduce((sum, x, i) => sum + x * up[i], 0);
    await openTab(page, "View");
    await press(page, "Fly");
    const start = await place();
    await afterChange(page, () => drag(page, [0.5, 0.5], [60, 30]));
    assert.deepEqual((await place()).map((x) => x.toFixed(4)), start.map((x) => x.toFixed(4)), "a drag only turns");
    await press(page, "Walk");
    await afterChange(page, () => page.locator("#picture").press("w", { delay: 200 }));
    const walked = await place();
    assert.ok(Math.hypot(...walked.map((x, i) => x - start[i])) > 0.01, "walked");
    assert.ok(Math.abs(height(walked) - height(start)) < 1e-3, "on the ground");
  }));

  test("the view can be changed in every way, and reset", () => inPage(server.url, {}, async (page) => {
    await openTab(page, "View");
    const start = await pictureOf(page);
    const slide = (name, value) => page.getByRole("slider", { name }).fill(value);
    const degree = (n) => page.getByRole("group", { name: "SH degree" }).getByRole("button", { name: n }).click();
    const changes = {
      depth: () => press(page, "Depth"),
      alpha: () => press(page, "Alpha"),
      gaussians: () => press(page, "Gaussians"),
      colour: () => press(page, "Colour"),
      fov: () => slide("Field of view", "80"),
      scale: () => slide("Splat scale", "0.5"),
      degree: () => degree("0"),
      background: () => page.getByLabel("Background").fill("#ff8000"),
    };
    let last = start;
    for (const [name, change] of Object.entries(changes)) {
      await afterChange(page, change);
      const seen = await pictureOf(page);
      assert.ok(psnr(seen, last) < 45, `${name} changes the picture`);
      if (["depth", "alpha", "gaussians"].includes(name)) await screenshot(page, `model_${name}`);
      last = seen;
    }
    await afterChange(page, () => degree("3")); // the command shows all that there are
    const flags = ["--background", "1,0.502,0", "--scale-modifier", "0.5"];
    const agreement = psnr(await pictureOf(page), await rendered("run", await cameraOf(page), ...flags));
    assert.ok(agreement > 38, `with these settings, ${agreement} dB`);
    await afterChange(page, () => press(page, "Reset"));
    assert.ok(psnr(await pictureOf(page), start) > 45, "the start again");
  }));

  test("what the browser draws is what the server draws with --remote, in every view", async () => {
    const remote = await stipple.serve("view", await run(), "--remote", "--backend", "cpu");
    await inPage(server.url, {}, (here) => inPage(remote.url, {}, async (there) => {
      assert.match(await output(there, "Rendered by").textContent(), /^cpu/);
      for (const [shown, least] of [["Colour", 32], ["Depth", 25], ["Alpha", 30], ["Gaussians", 22]]) {
        const pictures = [];
        for (const page of [here, there]) {
          await openTab(page, "View");
          if (shown !== "Colour") await afterChange(page, () => press(page, shown));
          pictures.push(await pictureOf(page));
        }
        const agreement = psnr(...pictures);
        assert.ok(agreement > least, `${shown}: ${agreement} dB`);
      }
    }));
    await remote.stop();
  });

  test("a screenshot is the picture", () => inPage(server.url, {}, async (page) => {
    await openTab(page, "View");
    const seen = await pictureOf(page);
    const { name, bytes } = await downloaded(page, () => press(page, "Screenshot"));
    assert.equal(name, "run.png");
    assert.ok(psnr(decodePng(bytes), seen) > 50);
  }));

  test("once the server has ended, the page says so and the model stays", async () => {
    const other = await stipple.serve("view", await run());
    await inPage(other.url, {}, async (page) => {
      await settled(page);
      assert.equal(await other.stop(), 0);
      await page.getByText("The server has ended; the model stays here until the page is closed.").waitFor();
      await afterChange(page, () => page.locator("#picture").press("ArrowLeft", { delay: 100 }));
      assert.ok(page.faults.every((fault) => /WebSocket|ERR_CONNECTION_REFUSED/.test(fault)), page.faults);
      page.faults.length = 0; // the browser itself tells of the lost connection
    });
  });

  test("a model that is not one is an answer in the page", async () => {
    await writeFile(inFolder("broken.splat"), Buffer.alloc(3200, 0x7f));
    const broken = await stipple.serve("view", "broken.splat");
    await inPage(broken.url, {}, (page) => settled(page));
    await broken.stop();
  });

  test("a picture of it", () => inPage(server.url, {}, async (page) => {
    await openTab(page, "View");
    await settled(page);
    await screenshot(page, "model");
  }));
});
