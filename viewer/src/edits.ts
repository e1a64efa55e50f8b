// SPDX-License-Identifier: Apache-2.0
// Which Gaussians are selected, and which have been removed, with undo and redo.

export const kSelected = 1;
export const kRemoved = 2;

interface Step { // a change of one bit of some Gaussians
  bit: number;
  changed: Uint32Array;
}

export class Edits {
  readonly states: Uint8Array; // bits per Gaussian, in the order of the file
  selectedCount = 0;
  removedCount = 0;
  private done: Step[][] = []; // one list per operation of the visitor
  private undone: Step[][] = [];

  // `capacity` is the length of the array, which may be longer than there are Gaussians.
  constructor(readonly count: number, capacity = count) {
    this.states = new Uint8Array(capacity);
  }

  get canUndo(): boolean {
    return this.done.length > 0;
  }
  get canRedo(): boolean {
    return this.undone.length > 0;
  }

  // Selects these Gaussians, each named once, or takes them out of the selection. Removed ones are left alone. With `isMore`, this belongs
  // to the same operation as the last change.
  select(gaussians: Iterable<number>, isSelected: boolean, isMore = false): void {
    const wanted = isSelected ? kSelected : 0;
    const changed = Uint32Array.from(
      filtered(gaussians, (i) => (this.states[i] & kRemoved) === 0 && (this.states[i] & kSelected) !== wanted));
    if (changed.length > 0) this.doNow([{ bit: kSelected, changed }], isMore);
  }

  clearSelection(): void {
    this.select(this.having(kSelected), false);
  }

  invertSelection(): void {
    const changed = Uint32Array.from(filtered(this.all(), (i) => (this.states[i] & kRemoved) === 0));
    if (changed.length > 0) this.doNow([{ bit: kSelected, changed }], false);
  }

  // What has been removed is no longer selected.
  removeSelected(): void {
    const changed = Uint32Array.from(this.having(kSelected));
    if (changed.length > 0) this.doNow([{ bit: kSelected, changed }, { bit: kRemoved, changed }], false);
  }

  undo(): void {
    const steps = this.done.pop();
    if (!steps) return;
    for (const step of [...steps].reverse()) this.flip(step);
    this.undone.push(steps);
  }

  redo(): void {
    const steps = this.undone.pop();
    if (!steps) return;
    for (const step of steps) this.flip(step);
    this.done.push(steps);
  }

  // One bit per Gaussian, the least significant bit of each byte first.
  removedBits(): Uint8Array {
    const bits = new Uint8Array(Math.ceil(this.count / 8));
    for (const i of this.having(kRemoved)) bits[i >> 3] |= 1 << (i & 7);
    return bits;
  }

  private doNow(steps: Step[], isMore: boolean): void {
    for (const step of steps) this.flip(step);
    const last = this.done[this.done.length - 1];
    if (isMore && last && !this.canRedo) last.push(...steps);
    else this.done.push(steps);
    this.undone = [];
  }

  private flip(step: Step): void {
    let added = 0;
    for (const i of step.changed) {
      this.states[i] ^= step.bit;
      added += this.states[i] & step.bit ? 1 : -1;
    }
    if (step.bit === kSelected) this.selectedCount += added;
    else this.removedCount += added;
  }

  private *all(): Iterable<number> {
    for (let i = 0; i < this.count; ++i) yield i;
  }
  private having(bit: number): Iterable<number> {
    return filtered(this.all(), (i) => (this.states[i] & bit) !== 0);
  }
}

function* filtered(items: Iterable<number>, isWanted: (i: number) => boolean): Iterable<number> {
  for (const i of items) if (isWanted(i)) yield i;
}
