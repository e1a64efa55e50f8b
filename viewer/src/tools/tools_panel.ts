// SPDX-License-Identifier: Apache-2.0
// The tab of the tools: one of them at a time is in use, while the tab is shown.
import { el } from "../dom";
import type { Tool } from "./tool";

export class ToolsPanel {
  private active: Tool | null = null;
  private isShown = false;
  private readonly buttons: HTMLButtonElement[];
  private readonly body = el("div", { class: "tool-body" });

  constructor(place: HTMLElement, private readonly tools: Tool[], private readonly inUse: (isInUse: boolean) => void) {
    this.buttons = tools.map((tool) =>
      el("button", { type: "button", "aria-pressed": "false", onclick: () => this.toggle(tool) }, tool.name));
    const hint = el("p", { class: "hint" }, "Choose a tool; choose it again to put it away.");
    place.append(el("div", { class: "choice", role: "group", "aria-label": "Tools" }, ...this.buttons), this.body);
    this.body.append(hint);
  }

  // To be called when the tab is shown or hidden.
  setShown(isShown: boolean): void {
    if (isShown === this.isShown) return;
    this.isShown = isShown;
    if (isShown) this.active?.activate();
    else this.active?.deactivate();
    this.inUse(isShown && this.active !== null);
  }

  private toggle(tool: Tool): void {
    this.active?.deactivate();
    this.active = this.active === tool ? null : tool;
    this.active?.activate();
    this.buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(this.tools[i] === this.active)));
    this.body.replaceChildren(...(this.active ? [this.active.element] : []));
    this.inUse(this.active !== null);
  }
}
