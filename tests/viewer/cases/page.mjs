// SPDX-License-Identifier: Apache-2.0
// Everybody can use the page: with the keyboard alone, with a screen reader, on a phone, in dark and light.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { difference } from "../helpers/images.mjs";
import { afterChange, inPage, openTab, pictureOf, settled } from "../helpers/pages.mjs";
import { run, scene, screenshot, stipple } from "../helpers/world.mjs";

const kTabs = { model: ["Photos", "View", "Tools", "Messages"], training: ["Training", "Photos", "View", "Messages"] };

// Runs in the page: texts whose contrast to what is behind them is too small to be read (WCAG 2.2, 1.4.3).
function faintTexts() {
  const parse = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const [r, g, b, a = 1] = parse(getComputedStyle(e).backgroundColor);
      if (a === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const faint = [];
  for (const element of document.querySelectorAll("header *, #panel *, .bar *")) {
    const hasText = [...element.childNodes].some((n) => n.nodeType === Node.TEXT_NODE && n.textContent.trim());
    if (!hasText || !element.checkVisibility() || element.closest(":disabled")) continue;
    const text = luminance(parse(getComputedStyle(element).color).slice(0, 3)), back = luminance(behind(element));
    const ratio = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
    if (ratio < 4.5) faint.push(`${element.textContent.trim().slice(0, 30)}: ${ratio.toFixed(2)}`);
  }
  return faint;
}

// What can be operated, as a browser tells it to a screen reader: pairs of role and name.
async function controlsOf(page) {
  const session = await page.context().newCDPSession(page);
  const { nodes } = await session.send("Accessibility.getFullAXTree");
  const roles = new Set(["button", "slider", "textbox", "searchbox", "checkbox", "tab", "spinbutton", "link", "application",
    "ColorWell", "tabpanel", "progressbar", "img"]);
  return nodes.filter((node) => !node.ignored && roles.has(node.role?.value))
    .map((node) => [node.role.value, node.name?.value ?? ""]);
}

suite("the page", () => {
  const servers = {};
  before(async () => {
    servers.model = await stipple.serve("view", await run());
    servers.training = await stipple.serve("train", await scene(), "-o", "watched", "--overwrite", "--steps", "1000000",
      "--max-gaussians", "1000", "--backend", "cpu", "--view", "--view-budget", "0.3");
  });
  after(() => Promise.all(Object.values(servers).map((server) => server.stop())));

  for (const mode of ["model", "training"]) {
    test(`${mode}: everything has a name and can be read in dark and light`, () => inPage(servers[mode].url, {}, async (page) => {
      await settled(page);
      for (const colorScheme of ["dark", "light"]) {
        await page.emulateMedia({ colorScheme });
        for (const tab of kTabs[mode]) {
          await openTab(page, tab);
          assert.deepEqual(await page.evaluate(faintTexts), [], `${colorScheme}, ${tab}`);
          const controls = await controlsOf(page);
          assert.ok(controls.length > 5);
          assert.deepEqual(controls.filter(([, name]) => name.trim() === ""), [], tab);
          await screenshot(page, `page_${mode}_${tab.toLowerCase()}_${colorScheme}`);
        }
      }
    }));

    test(`${mode}: the keyboard alone reaches everything`, () => inPage(servers[mode].url, {}, async (page) => {
      await settled(page);
      for (const tab of kTabs[mode]) {
        // The tabs of the panel are one stop; arrows walk among them.
        await page.locator("[role=tab][aria-selected=true]").focus();
        while (await page.locator("[role=tab][aria-selected=true]").textContent() !== tab) await page.keyboard.press("ArrowRight");
        const missed = await page.evaluate(() => {
          const all = [...document.querySelectorAll("button, input, [tabindex='0'], summary, select, a[href]")]
            .filter((e) => e.checkVisibility() && !e.disabled && e.tabIndex >= 0 && !e.closest("dialog:not([open])"));
          window.unreached = new Set(all);
          document.addEventListener("focusin", (event) => window.unreached.delete(event.target));
          return all.length;
        });
        await page.evaluate(() => document.activeElement.blur());
        for (let i = 0; i < missed + 3; ++i) await page.keyboard.press("Tab");
        const left = await page.evaluate(() => [...window.unreached].map((e) => e.outerHTML.slice(0, 120)));
        assert.deepEqual(left, [], tab);
      }
    }));

    test(`${mode}: it fits a phone, and fingers turn the model`, () => inPage(
      servers[mode].url, { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true }, async (page) => {
        const start = await pictureOf(page);
        const { width, height } = page.viewportSize();
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width, "nothing sticks out");
        assert.ok(start.height > 0.35 * height, `the picture has ${start.height} rows`);
        const small = await page.evaluate(() => [...document.querySelectorAll("button")]
          .filter((b) => b.checkVisibility() && (b.offsetWidth < 24 || b.offsetHeight < 24)).map((b) => b.outerHTML));
        assert.deepEqual(small, [], "large enough for a finger");

        const session = await page.context().newCDPSession(page);
        const touch = (type, ...points) =>
          session.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(([x, y], id) => ({ x, y, id })) });
        await afterChange(page, async () => {
          await touch("touchStart", [150, 250]);
          await touch("touchMove", [190, 250]);
          await touch("touchMove", [230, 250]);
          await touch("touchEnd");
        });
        const turned = await pictureOf(page);
        assert.ok(difference(turned, start) > 0.05, "one finger turns");
        await afterChange(page, async () => {
          await touch("touchStart", [150, 250], [250, 250]);
          await touch("touchMove", [120, 250], [280, 250]);
          await touch("touchMove", [90, 250], [310, 250]);
          await touch("touchEnd");
        });
        assert.ok(difference(await pictureOf(page), turned) > 0.05, "two fingers zoom");
        await screenshot(page, `phone_${mode}`);
        await page.getByRole("button", { name: "Panel" }).tap();
        await openTab(page, kTabs[mode][0]);
        assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), width);
        await settled(page);
        assert.ok((await pictureOf(page)).height > 0.25 * height, "there is still a picture");
        await screenshot(page, `phone_${mode}_panel`);
      }));
  }

  test("the help lists the keys, and closes with Escape", () => inPage(servers.model.url, {}, async (page) => {
    await settled(page);
    await page.keyboard.press("?");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    assert.ok(await dialog.locator("kbd").count() > 15);
    await screenshot(page, "help");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
  }));

  test("the theme can be chosen, and is remembered", () => inPage(servers.model.url, { colorScheme: "dark" }, async (page) => {
    await settled(page);
    const paper = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await paper();
    await page.keyboard.press("l");
    const light = await paper();
    assert.notEqual(light, dark);
    await page.reload();
    await settled(page);
    assert.equal(await paper(), light);
  }));
});
