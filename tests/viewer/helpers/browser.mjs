// SPDX-License-Identifier: Apache-2.0
// Chromium without a display, and visitors of it: a page each that records what a page of the viewer must never do.
import { chromium } from "playwright-core";

const kChromium = process.env.STIPPLE_CHROMIUM;

// WebGL2 on the CPU, which works on any machine; no name leads anywhere but those given and this machine.
export function launch(names = {}) {
  const rules = [...Object.entries(names).map(([name, address]) => `MAP ${name} ${address}`),
    "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1", "EXCLUDE localhost"];
  return chromium.launch({
    executablePath: kChromium,
    args: ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
      "--mute-audio", `--host-resolver-rules=${rules.join(", ")}`],
  });
}

const isOfPage = (url, origin) => /^(data|blob|about):/.test(url) || new URL(url).origin === origin ||
  new URL(url).origin === origin.replace(/^http/, "ws");

// Opens a page of its own context. `faults` collects console errors, exceptions, requests to other hosts and violations
// of the policy of the page.
export async function visit(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 640, height: 480 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  const faults = [];
  const origin = url && new URL(url).origin;
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`exception: ${error.stack ?? error}`));
  page.on("request", (request) => {
    if (!isOfPage(request.url(), origin)) faults.push(`request: ${request.url()}`);
  });
  page.on("websocket", (socket) => {
    if (!isOfPage(socket.url(), origin)) faults.push(`socket: ${socket.url()}`);
  });
  await page.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) =>
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`));
  });
  page.faults = faults;
  page.socketMessages = recordMessages(page);
  if (url) await page.goto(url);
  return page;
}

// The JSON messages that the page's WebSockets carry, with the direction; for tests that need to know what was asked.
function recordMessages(page) {
  const messages = [];
  page.on("websocket", (socket) => {
    for (const [event, from] of [["framesent", "page"], ["framereceived", "server"]]) {
      socket.on(event, ({ payload }) => {
        if (typeof payload === "string") messages.push({ from, ...JSON.parse(payload) });
      });
    }
  });
  return messages;
}
