// SPDX-License-Identifier: Apache-2.0
// Who may connect.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, suite, test } from "node:test";
import { launch, visit } from "../helpers/browser.mjs";
import { socketStatus, statusOf } from "../helpers/requests.mjs";
import { openPage, run, stipple } from "../helpers/world.mjs";

suite("access", () => {
  let server, elsewhere; // a viewer, and another web site of this machine
  const at = (path, base = server.url) => new URL(path, base).href;

  before(async () => {
    server = await stipple.serve("view", await run());
    elsewhere = createServer((_, response) => response.setHeader("content-type", "text/html").end("<h1>another site</h1>"));
    await new Promise((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  });
  after(async () => {
    elsewhere.close();
    await server.stop();
  });

  // Runs in the page of another site; tells what it could reach.
  const attack = (page, url) => page.evaluate(async (url) => {
    const socket = new WebSocket(url.replace(/^http/, "ws") + "socket");
    const opened = await new Promise((resolve) => {
      socket.onopen = () => resolve(true);
      socket.onclose = () => resolve(false);
    });
    const read = await fetch(url).then((answer) => answer.ok, () => false);
    return { opened, read };
  }, url);

  test("the page of another site of this machine reaches nothing", async () => {
    const page = await openPage(`http://127.0.0.1:${elsewhere.address().port}/`);
    assert.deepEqual(await attack(page, server.url), { opened: false, read: false });
    await page.close();
    const own = await openPage(server.url);
    assert.deepEqual(await attack(own, server.url), { opened: true, read: true }, "but the viewer's own page does");
    await own.close();
  });

  test("a name that another site lets point to this machine reaches nothing", async () => {
    const browser = await launch({ "evil.test": "127.0.0.1" });
    try {
      const page = await visit(browser, null);
      const url = server.url.replace("127.0.0.1", "evil.test");
      assert.equal((await page.goto(url)).status(), 403);
      // The other site serves a page of its own, before it changes where its name points to.
      await page.route(`${url}attack`, (route) => route.fulfill({ contentType: "text/html", body: "<h1>another site</h1>" }));
      await page.goto(`${url}attack`);
      assert.deepEqual(await attack(page, url), { opened: false, read: false });
    } finally {
      await browser.close();
    }
  });

  test("Host and Origin are checked for every address", async () => {
    const port = new URL(server.url).port;
    for (const path of ["/", "/model/0", "/photo/0"]) {
      assert.equal(await statusOf(at(path)), 200, path);
      assert.equal(await statusOf(at(path), { Host: `localhost:${port}` }), 200, path);
      assert.equal(await statusOf(at(path), { Host: `evil.test:${port}` }), 403, path);
      assert.equal(await statusOf(at(path), { Origin: "http://evil.test" }), 403, path);
    }
    assert.equal(await socketStatus(at("/socket")), 101);
    assert.equal(await socketStatus(at("/socket"), { Origin: server.url.slice(0, -1) }), 101);
    for (const headers of [{ Host: `evil.test:${port}` }, { Origin: "http://evil.test" }, { Origin: "null" }]) {
      assert.equal(await socketStatus(at("/socket"), headers), 403, JSON.stringify(headers));
    }
  });

  test("an address that others can reach needs the token", async () => {
    const open = await stipple.serve("view", await run(), "--address", "0.0.0.0");
    const printed = new URL(open.url);
    const token = printed.searchParams.get("token");
    assert.match(token ?? "", /^[\w-]{20,}$/);
    const base = `http://127.0.0.1:${printed.port}`;
    const wrong = token.replace(/.$/, (last) => (last === "a" ? "b" : "a"));
    for (const path of ["/", "/model/0", "/photo/0"]) {
      assert.equal(await statusOf(`${base}${path}`), 403, path);
      assert.equal(await statusOf(`${base}${path}?token=${wrong}`), 403, path);
      assert.equal(await statusOf(`${base}${path}?token=${token}`), 200, path);
    }
    assert.equal(await socketStatus(`${base}/socket`), 403);
    assert.equal(await socketStatus(`${base}/socket?token=${wrong}`), 403);
    assert.equal(await socketStatus(`${base}/socket?token=${token}`), 101);

    const refused = await openPage(null);
    assert.equal((await refused.goto(`${base}/`)).status(), 403);
    await refused.close();
    const page = await openPage(`${base}/?token=${token}`);
    await page.locator("#picture[data-settled=true]").waitFor();
    assert.deepEqual(page.faults, []);
    await page.close();
    await open.stop();
  });
});
