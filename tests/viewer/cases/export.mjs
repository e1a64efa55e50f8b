// SPDX-License-Identifier: Apache-2.0
// Pages that `stipple export-html` writes: they need no server and no network.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, suite, test } from "node:test";
import { pathToFileURL } from "node:url";
import { contrast, difference, psnr } from "../helpers/images.mjs";
import {
  afterChange, cameraOf, downloaded, inPage, openTab, pictureOf, press, rendered, settled,
} from "../helpers/pages.mjs";
import { inFolder, openPage, run, screenshot, stipple } from "../helpers/world.mjs";

const kTitle = "</script><b>Still life</b> & \"more\"";
const kAgreementDb = 45; // with the .sog that is in the page
const kLikenessDb = 36; // with the model that it was made of, which has large harmonics

suite("an exported page", () => {
  let url;
  const offline = { offline: true };

  before(async () => {
    await stipple.run("convert", await run(), "page.sog");
    await stipple.run("export-html", "run", "-o", "page.html", "--title", kTitle);
    url = pathToFileURL(inFolder("page.html")).href;
  });

  async function checkPicture(page, least = kAgreementDb) {
    const camera = await cameraOf(page);
    const seen = await pictureOf(page);
    const agreement = psnr(seen, await rendered("page.sog", camera));
    assert.ok(agreement > least, `${agreement} dB`);
    return psnr(seen, await rendered("run", camera));
  }

  test("as a file, without a network, it looks as stipple render draws the model", () => inPage(url, offline, async (page) => {
    const seen = await pictureOf(page);
    assert.ok(contrast(seen) > 20, "something is seen");
    await screenshot(page, "exported");
    const likeness = await checkPicture(page);
    assert.ok(likeness > kLikenessDb, `${likeness} dB`);
    await afterChange(page, () => page.locator("#picture").press("ArrowLeft", { delay: 120 }));
    assert.ok(difference(await pictureOf(page), seen) > 0.05, "the arrow turns it");
    const requests = await page.evaluate(() => performance.getEntriesByType("resource").map((entry) => entry.name));
    assert.deepEqual(requests.filter((name) => !/^(data|blob):/.test(name)), []);
  }));

  test("it starts as stipple view does", async () => {
    const server = await stipple.serve("view", "run");
    const cameras = [];
    for (const address of [server.url, url]) {
      await inPage(address, {}, async (page) => cameras.push(await cameraOf(page)));
    }
    assert.deepEqual(cameras[1], cameras[0]);
    await server.stop();
  });

  test("its title is text", () => inPage(url, offline, async (page) => {
    assert.equal(await page.locator("h1").textContent(), kTitle);
    assert.equal(await page.title(), `${kTitle} – Stipple`);
    assert.equal(await page.locator("b").count(), 0);
  }));

  test("it has the tools, and nothing that needs a server", () => inPage(url, offline, async (page) => {
    await settled(page);
    assert.deepEqual(await page.getByRole("tab").allTextContents(), ["View", "Tools"]);
    assert.equal(await page.locator(".connection").textContent(), "");
    assert.ok(await page.locator(".banner").isHidden());
    await openTab(page, "Tools");
    const tools = page.getByRole("group", { name: "Tools" }).getByRole("button");
    assert.deepEqual(await tools.allTextContents(), ["Measure", "Crop", "Brush", "Path"]);
    for (const tool of await tools.all()) {
      await tool.click();
      const names = await page.getByRole("button").allTextContents();
      assert.deepEqual(names.filter((name) => /^(Save|Overwrite it|Pause|Stop|Cancel|Try again)$/.test(name)), []);
    }
    assert.equal(await page.getByLabel("Name of the file").count(), 0);

    await press(page, "Add this view");
    const path = JSON.parse((await downloaded(page, () => press(page, "Save path"))).bytes);
    assert.equal(path.keyframes.length, 1);
    await press(page, "Measure");
    await press(page, "Point in the middle");
    await page.locator(".coordinates li").first().waitFor();
    await press(page, "Crop");
    assert.equal((await page.getByLabel("Box, as numbers").inputValue()).split(",").length, 6);
    await screenshot(page, "exported_crop");
  }));

  test("on a phone", () => inPage(
    url, { ...offline, viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true, deviceScaleFactor: 2 },
    async (page) => {
      await settled(page);
      await screenshot(page, "exported_phone");
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 390, `nothing is wider than the screen: ${width}`);
      assert.ok(contrast(await pictureOf(page)) > 20);
    }));

  // As some browsers do, so that nobody can be recognised by how his machine draws.
  const noises = {
    "a few bits": (data) => {
      for (let i = 0; i < data.length; i += 397) data[i] ^= 1;
    },
    "everything": (data) => data.forEach((_, i) => (data[i] = (i * 2654435761) >>> 24)),
  };
  for (const [what, change] of Object.entries(noises)) {
    test(`a browser that changes ${what} in pixels that are read back draws the same`, async () => {
      const page = await openPage(null, offline);
      await page.addInitScript(`{
        const read = OffscreenCanvasRenderingContext2D.prototype.getImageData;
        OffscreenCanvasRenderingContext2D.prototype.getImageData = function (...area) {
          const pixels = read.apply(this, area);
          (${change})(pixels.data);
          window.haveBeenChanged = true;
          return pixels;
        };
      }`);
      await page.goto(url);
      await checkPicture(page, what === "everything" ? 30 : kAgreementDb);
      assert.ok(await page.evaluate(() => window.haveBeenChanged));
      assert.deepEqual(page.faults, []);
      await page.context().close();
    });
  }

  // A web host that sends what `send` does with the response and the page.
  async function hosted(file, headers, send, act) {
    const page = readFileSync(inFolder(file));
    const server = createServer((request, response) => {
      const isPage = request.url === "/page";
      response.writeHead(isPage ? 200 : 404, { "Content-Type": "text/html; charset=utf-8", ...headers });
      if (isPage) send(response, page);
      else response.end();
    });
    await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      await act(`http://127.0.0.1:${server.address().port}/page`);
    } finally {
      server.close();
      server.closeAllConnections();
    }
  }

  test("a host may forbid it everything but to run scripts", () => hosted(
    "page.html",
    { "Content-Security-Policy": "sandbox allow-scripts allow-downloads", "X-Content-Type-Options": "nosniff",
      "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" },
    (response, page) => response.end(page),
    (address) => inPage(address, {}, async (page) => {
      await checkPicture(page);
      await press(page, "Dark or light"); // storage is forbidden
      await openTab(page, "Tools");
      await press(page, "Crop");
      // Nor has a page of http: the clipboard, if it is from another machine.
      await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined }));
      await press(page, "Copy --crop");
      await page.getByText("the numbers above are selected").waitFor();
    })));

  suite("of a large model", () => {
    let cut; // in the last part of the model
    before(async () => {
      const copies = Math.ceil((4 << 20) / 32 / 5000);
      await stipple.run("convert", ...Array(copies).fill(await run()), "large.splat");
      await stipple.run("export-html", "large.splat", "-o", "large.html", "--scene", "scene");
      const text = readFileSync(inFolder("large.html"), "latin1");
      cut = text.lastIndexOf("stipple-model-0") + 10_001;
    });
    const status = (page) => page.locator(".loading [role=status]");

    test("it tells how much of it has come", async () => {
      let sendRest;
      const send = (response, page) => {
        response.write(page.subarray(0, cut));
        sendRest = () => response.end(page.subarray(cut));
      };
      await hosted("large.html", {}, send, async (address) => {
        const page = await openPage(null);
        const opening = page.goto(address);
        await status(page).getByText("Loading large.splat: 3.1 MB of 4.").waitFor();
        assert.ok(await page.getByRole("button", { name: "Cancel" }).isHidden());
        await screenshot(page, "exported_loading");
        sendRest();
        await opening;
        await settled(page);
        assert.equal(await page.locator(".stipple-model-0").count(), 0, "the text is not kept");
        assert.deepEqual(page.faults, []);
        await page.context().close();
      });
    });

    test("one that was cut off says so", () => hosted(
      "large.html", {}, (response, page) => response.end(page.subarray(0, cut)),
      (address) => inPage(address, {}, async (page) => {
        await status(page).getByText("large.splat cannot be shown: the file of this page is not complete; get it again.").waitFor();
        assert.ok(await page.getByRole("button", { name: "Try again" }).isHidden());
      })));
  });
});
