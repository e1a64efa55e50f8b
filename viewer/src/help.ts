// SPDX-License-Identifier: Apache-2.0
// The dialog with all keys, and with the licences of what is in the page.
import { el, icon } from "./dom";
import type { Keys } from "./keys";

const kNames: Record<string, string> = {
  " ": "Space", arrowleft: "←", arrowright: "→", arrowup: "↑", arrowdown: "↓", escape: "Esc",
};

export class Help {
  private readonly dialog = el("dialog", { class: "help", "aria-labelledby": "help-title" });

  constructor(private readonly keys: Keys, private readonly version: string) {
    keys.add({ keys: ["?"], group: "Page", text: "This help", run: () => this.open() });
    document.body.append(this.dialog);
  }

  open(): void {
    const groups = [...new Set(this.keys.all.map((key) => key.group))];
    this.dialog.replaceChildren(
      el("form", { method: "dialog", class: "head" },
        el("h2", { id: "help-title" }, "Keys and gestures"),
        el("button", { "aria-label": "Close", title: "Close" }, icon("close"))),
      el("div", { class: "groups" }, ...groups.map((group) => this.section(group))),
      el("details", {}, el("summary", {}, `Stipple ${this.version}: licences`),
        el("p", {}, "Stipple is licensed under Apache-2.0. This page contains:"),
        el("pre", { tabindex: "0" }, document.getElementById("licences")?.textContent ?? "")));
    this.dialog.showModal();
  }

  private section(group: string): HTMLElement {
    const rows = this.keys.all.filter((key) => key.group === group).map((key) =>
      el("div", {}, el("dt", {}, ...key.keys.map((k) => el("kbd", {}, keyName(k)))), el("dd", {}, key.text)));
    return el("section", {}, el("h3", {}, group), el("dl", {}, ...rows));
  }
}

function keyName(key: string): string {
  if (key.startsWith("shift+")) return `Shift ${keyName(key.slice(6))}`;
  return kNames[key] ?? (key.length === 1 ? key.toUpperCase() : key);
}
