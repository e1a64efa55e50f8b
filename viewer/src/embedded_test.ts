// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { base64OfBytes, bytesOfBase64, embeddedModel } from "./embedded";

const someBytes = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 31) & 255);

test("bytes as base64 and back", () => {
  const bytes = someBytes(70_001);
  assert.deepEqual(bytesOfBase64(base64OfBytes(bytes)), bytes);
  assert.equal(base64OfBytes(new Uint8Array([1, 2, 255])), "AQL/");
  assert.deepEqual([...bytesOfBase64("\nAQL/\n")], [1, 2, 255]);
});

// Puts a document in place that has elements with these texts, as far as it has come.
function pretendDocument(readyState: string, texts: string[]) {
  const elements: { textContent: string; remove: () => void }[] = [];
  const add = (textContent: string) => elements.push({ textContent, remove: () => void elements.shift() });
  texts.forEach(add);
  const pretended = { readyState, getElementsByClassName: () => elements, elements, add };
  (globalThis as { document?: unknown }).document = pretended;
  return pretended;
}

test("the parts of a model are joined while the page still loads", async () => {
  const bytes = someBytes(25);
  const texts = [bytes.subarray(0, 12), bytes.subarray(12, 24), bytes.subarray(24)].map(base64OfBytes);
  const page = pretendDocument("loading", [texts[0], texts[1].slice(0, 3)]); // the second one has not ended
  const steps: number[] = [];
  const model = await embeddedModel(0, bytes.length, (received) => {
    steps.push(received);
    if (received !== 12) return;
    page.elements.at(-1)!.textContent = texts[1];
    page.add(texts[2]);
    page.readyState = "interactive";
  });
  assert.deepEqual(model, bytes);
  assert.deepEqual(steps, [12, 24, 25]);
  assert.equal(page.elements.length, 0, "the texts are not kept");
});

test("a file that was cut off is reported", async () => {
  const whole = base64OfBytes(someBytes(30));
  for (const texts of [[], [whole.slice(0, 20)], [whole.slice(0, 21)]]) {
    pretendDocument("complete", texts);
    await assert.rejects(() => embeddedModel(0, 30, () => {}), /is not complete/);
  }
});
