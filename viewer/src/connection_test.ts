// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { splitPicture } from "./connection";

test("a picture's message is split into its header and its JPEG", async () => {
  const header = { serial: 7, model: 0, shown: "color", width: 2, height: 1, is_sharp: true, step: null };
  const text = new TextEncoder().encode(JSON.stringify(header));
  const message = new Uint8Array(4 + text.length + 3);
  new DataView(message.buffer).setUint32(0, text.length, true);
  message.set(text, 4);
  message.set([255, 216, 7], 4 + text.length);
  const [found, jpeg] = splitPicture(message.buffer);
  assert.deepEqual(found, header);
  assert.deepEqual([...new Uint8Array(await jpeg.arrayBuffer())], [255, 216, 7]);
  assert.equal(jpeg.type, "image/jpeg");
});
