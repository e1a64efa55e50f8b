// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { base64OfBytes, bytesOfBase64 } from "./embedded";

test("bytes as base64 and back", () => {
  const bytes = Uint8Array.from({ length: 70_001 }, (_, i) => (i * 31) & 255);
  assert.deepEqual(bytesOfBase64(base64OfBytes(bytes)), bytes);
  assert.equal(base64OfBytes(new Uint8Array([1, 2, 255])), "AQL/");
  assert.deepEqual([...bytesOfBase64("\nAQL/\n")], [1, 2, 255]);
});
