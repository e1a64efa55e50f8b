// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { test } from "node:test";
import { Edits, kRemoved, kSelected } from "./edits";

const states = (edits: Edits) => [...edits.states];

test("a selection grows and shrinks, and is removed", () => {
  const edits = new Edits(4);
  edits.select([1, 2], true);
  assert.equal(edits.selectedCount, 2);
  edits.select([2], false);
  assert.deepEqual(states(edits), [0, kSelected, 0, 0]);
  edits.removeSelected();
  assert.deepEqual(states(edits), [0, kRemoved, 0, 0]);
  assert.deepEqual([edits.selectedCount, edits.removedCount], [0, 1]);
  edits.select([0, 1], true);
  assert.deepEqual(states(edits), [kSelected, kRemoved, 0, 0]);
});

test("undo and redo go back and forth through all operations", () => {
  const edits = new Edits(5);
  const seen = [states(edits)];
  edits.select([0, 1], true);
  seen.push(states(edits));
  edits.removeSelected();
  seen.push(states(edits));
  edits.invertSelection();
  seen.push(states(edits));
  edits.clearSelection();
  seen.push(states(edits));
  for (let i = 3; i >= 0; --i) {
    edits.undo();
    assert.deepEqual(states(edits), seen[i]);
  }
  assert.equal(edits.canUndo, false);
  assert.deepEqual([edits.selectedCount, edits.removedCount], [0, 0]);
  for (let i = 1; i <= 4; ++i) {
    edits.redo();
    assert.deepEqual(states(edits), seen[i]);
  }
  assert.equal(edits.removedCount, 2);
});

test("the parts of a stroke are undone together", () => {
  const edits = new Edits(5);
  edits.select([0], true);
  edits.select([1], true);
  edits.select([2, 3], true, true);
  edits.undo();
  assert.deepEqual(states(edits), [kSelected, 0, 0, 0, 0]);
});

test("a new operation forgets what was undone", () => {
  const edits = new Edits(3);
  edits.select([0], true);
  edits.undo();
  edits.select([1], true, true);
  assert.equal(edits.canRedo, false);
  edits.undo();
  assert.deepEqual(states(edits), [0, 0, 0]);
});

test("removed Gaussians as bits", () => {
  const edits = new Edits(10, 4096);
  edits.select([0, 3, 9], true);
  edits.removeSelected();
  assert.deepEqual([...edits.removedBits()], [0b1001, 0b10]);
});
