// SPDX-License-Identifier: Apache-2.0
// Chromium without a display, and visitors of it: a page each that records what a page of the viewer must never do.
import { chromium } from "playwright-core";

const kChromium = process.env.STIPPLE_CHROMIUM;
const kPatienceMs = Number(process.env.STIPPLE_PATIENCE_MS ?? 300_000); // long, since the machine may be busy

// WebGL2 on the CPU, which works on any machine; no name leads anywhere but those given and this machine.
export function launch(names = {}) {
  const rules = [...Object.entries(names).map(([name, address]) => `MAP ${name} ${address}`),
    "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1", "EXCLUDE localhost"];
  return chromium.launch({
    executablePath: kChromium,
    args: ["--no-sandbox", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--use-angle=swiftshader", "--enable-unsafe-swiftshader",
      "--mute-audio", "--disable-features=LocalNetworkAccessChecks", // a guard that other browsers lack
      `--host-resolver-rules=${rules.join(", ")}`],
  });
}

const isOfPage = (url, origin) => origin === null || /^(data|blob|about):/.test(url) || new URL(url).origin === origin ||
  new URL(url).origin === origin.replace(/^http/, "ws");

// Opens a page of its own context. `faults` collects console errors, exceptions, requests to other hosts and violations
// of the policy of the page.
export async function visit(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 760, height: 400 }, reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  const faults = [];
  const origin = url && new URL(url).origin; // null: anything
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
  page.setDefaultTimeout(kPatienceMs);
  await page.addInitScript(() => {
    // How often the picture has become final, for tests that wait for the next time.
    window.settledCount = 0;
    new MutationObserver((changes) => {
      for (const { target } of changes) {
        if (target.id === "picture" && target.dataset.settled === "true") ++window.settledCount;
      }
    }).observe(document, { subtree: true, attributeFilter: ["data-settled"] });
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
