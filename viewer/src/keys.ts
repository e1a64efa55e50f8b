// SPDX-License-Identifier: Apache-2.0
// The keys of the page, in one list that the help shows.

export interface Key {
  keys: string[]; // KeyboardEvent.key, letters in lower case; "shift+x" for a letter with shift
  group: string;
  text: string;
  run?: (event: KeyboardEvent) => void; // none for keys that are only described, as those that controls hold down
}

export class Keys {
  readonly all: Key[] = [];

  constructor() {
    addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event)) return;
      const name = (event.shiftKey && /^[a-z]$/i.test(event.key) ? "shift+" : "") + event.key.toLowerCase();
      const key = this.all.find((k) => k.run && k.keys.includes(name));
      if (!key) return;
      event.preventDefault();
      key.run!(event);
    });
  }

  add(key: Key): void {
    this.all.push(key);
  }
}

// Whether a key belongs to what has the focus: text, a slider, a dialog.
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as Element | null;
  if (!target?.closest) return false;
  if (target.closest("dialog[open], textarea, select, [contenteditable]")) return true;
  const input = target.closest("input");
  if (input) return !["checkbox", "radio", "button"].includes(input.type) || /^(arrow|[ ])/i.test(event.key);
  return [" ", "Enter"].includes(event.key) && target.closest("button, summary, a[href]") !== null;
}
