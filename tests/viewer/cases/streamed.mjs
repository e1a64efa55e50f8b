// SPDX-License-Identifier: Apache-2.0
// A model with levels of detail, of which the browser loads what it needs.
import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { after, before, suite, test } from "node:test";
import { contrast, difference, psnr } from "../helpers/images.mjs";
import { afterChange, cameraOf, inPage, openTab, output, pictureOf, press, rendered, settled } from "../helpers/pages.mjs";
import { inFolder, openPage, run, scene, screenshot, stipple } from "../helpers/world.mjs";

const kLeaves = 6;

// The pieces of the one leaf of a small model as several leaves; their Gaussians are near each other, since those of a
// piece are in the order of a curve through space. Only the first leaf has a box.
function cut({ bound, lods }) {
  const part = ({ file, offset, count }, i) => {
    const [begin, end] = [i, i + 1].map((n) => Math.floor((n * count) / kLeaves));
    return { file, offset: offset + begin, count: end - begin };
  };
  const leaf = (i) => Object.fromEntries(Object.entries(lods).map(([level, piece]) => [level, part(piece, i)]));
  return { children: Array.from({ length: kLeaves }, (_, i) => ({ lods: leaf(i), ...(i === 0 ? { bound } : {}) })) };
}

// A model of two levels in several leaves, and in its surroundings another copy of it.
async function makeStreamed(name) {
  await rm(inFolder(name), { recursive: true, force: true });
  await stipple.run("convert", `${await run()}/model.ply`, name);
  await stipple.run("convert", "run/model.ply", "--translate", "-6,0,0", `${name}/around/meta.json`);
  const path = inFolder(`${name}/lod-meta.json`);
  const meta = JSON.parse(await readFile(path));
  await writeFile(path, JSON.stringify({ ...meta, environment: "around/meta.json", tree: cut(meta.tree) }));
  return name;
}

const kBall = 50_000;

// A ball of so many small Gaussians that it has two leaves.
async function makeBall(name) {
  const bytes = Buffer.alloc(32 * kBall);
  for (let i = 0; i < kBall; ++i) {
    const z = 1 - (2 * i + 1) / kBall, angle = i * Math.PI * (3 - Math.sqrt(5)), radius = Math.sqrt(1 - z * z);
    const place = [radius * Math.cos(angle), radius * Math.sin(angle), z];
    [...place, 0.004, 0.004, 0.004].forEach((value, k) => bytes.writeFloatLE(value, 32 * i + 4 * k));
    const color = place.map((x) => 128 + 60 * x + 60 * Math.sin(7919 * i * (2 + x)));
    [...color, 230, 255, 128, 128, 128].forEach((value, k) => bytes.writeUInt8(Math.floor(value), 32 * i + 24 + k));
  }
  await writeFile(inFolder("ball.splat"), bytes);
  await rm(inFolder(name), { recursive: true, force: true });
  await stipple.run("convert", "ball.splat", name);
  return name;
}

// The levels of the pieces that the page has asked for since this was called last, sorted.
const levelsAskedFor = (page) => page.evaluate((leaves) => {
  const pieces = performance.getEntriesByType("resource").map(({ name }) => /lod\/0\/(\d+)\/(\d+)/.exec(name));
  performance.clearResourceTimings();
  return pieces.filter(Boolean).map(([, leaf, level]) => (Number(leaf) === leaves ? "around" : `level ${level}`)).sort();
}, kLeaves);

const each = (...levels) => levels.flatMap((level) => Array(kLeaves).fill(level));

const problem = (page) => page.locator(".toast.error");

suite("a streamed model", () => {
  let server;
  before(async () => {
    server = await stipple.serve("view", await makeStreamed("streamed.lod"), "--scene", await scene());
  });
  after(() => server.stop());

  test("near, all of it is loaded, and it looks as stipple render draws it", () => inPage(server.url, {}, async (page) => {
    const seen = await pictureOf(page);
    await screenshot(page, "streamed");
    assert.ok(contrast(seen) > 20, "something is seen");
    assert.deepEqual(await levelsAskedFor(page), ["around", ...each("level 0", "level 1")], "a coarse model first");
    const camera = await cameraOf(page);
    const agreement = psnr(seen, await rendered("streamed.lod", camera));
    assert.ok(agreement > 33, `${agreement} dB`);
    await stipple.run("convert", "streamed.lod", "streamed.spz"); // as the pieces are sent
    const sent = psnr(seen, await rendered("streamed.spz", camera));
    assert.ok(sent > 40, `as .spz, ${sent} dB`);
    const alone = psnr(seen, await rendered("run", camera));
    assert.ok(alone < 30, `without its surroundings, ${alone} dB`);
  }));

  test("it can be measured and cropped, but not edited", () => inPage(server.url, {}, async (page) => {
    await openTab(page, "View");
    const { count } = JSON.parse(await stipple.run("info", "streamed.lod", "--json"));
    assert.equal(await output(page, "streamed.lod").textContent(), `${count.toLocaleString("en")} Gaussians, degree 3`);
    const whole = await pictureOf(page);
    await openTab(page, "Tools");
    const tools = await page.getByRole("group", { name: "Tools" }).getByRole("button").allTextContents();
    assert.ok(tools.includes("Measure") && tools.includes("Crop") && !tools.includes("Brush"), `${tools}`);
    await press(page, "Crop");
    const size = page.getByLabel("Size x");
    await afterChange(page, () => size.fill("1").then(() => size.press("Enter")));
    await screenshot(page, "streamed_crop");
    assert.ok(difference(await pictureOf(page), whole) > 0.3, "all of its pieces are cropped");
  }));

  test("from afar, less of it is loaded", async () => {
    const large = await stipple.serve("view", await makeBall("ball.lod"));
    await inPage(large.url, {}, async (page) => {
      const agreement = async (model) => psnr(await pictureOf(page), await rendered(model, await cameraOf(page)));
      await settled(page);
      assert.deepEqual(await levelsAskedFor(page), ["level 0", "level 0", "level 1", "level 1"]);
      assert.ok(await agreement("ball.lod") > 40);
      await page.mouse.move(300, 240);
      for (let i = 0; i < 3; ++i) await afterChange(page, () => page.mouse.wheel(0, 400));
      assert.deepEqual(await levelsAskedFor(page), ["level 1", "level 1"]);
      await screenshot(page, "streamed_far");
      const [coarse, fine] = [await agreement("ball.lod/1_0/meta.json"), await agreement("ball.lod")];
      assert.ok(coarse > 40 && fine < coarse - 5, `${coarse} and ${fine} dB`);
    });
    await large.stop();
  });

  test("what cannot be loaded is said, and the rest is shown", async () => {
    const broken = await stipple.serve("view", await makeStreamed("broken.lod"), "--scene", await scene());
    await rm(inFolder("broken.lod/0_0/quats.webp"));
    const page = await openPage(broken.url);
    await settled(page);
    await problem(page).waitFor();
    assert.match(await problem(page).textContent(), /A part of broken.lod was not loaded: .*quats.webp.*: No such file or directory/);
    assert.ok(contrast(await pictureOf(page)) > 20, "the coarse level");
    await page.context().close();
    await broken.stop();
  });
});
