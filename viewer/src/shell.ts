// SPDX-License-Identifier: Apache-2.0
// What surrounds the picture: the header, the panel with its tabs, messages, and the theme.
import { button, el } from "./dom";
import type { ConnectionState } from "./connection";
import type { Keys } from "./keys";
import type { Mode, Notice } from "./protocol";

const kModeNames: Record<Mode, string> = { model: "Model", training: "Training", compare: "Comparison" };
const kToastMs = 6000;

export class Shell {
  readonly main = el("main");
  private readonly actions = el("span", { class: "actions" });
  private readonly title = el("h1", {}, "Stipple");
  private readonly mode = el("span", { class: "badge" });
  private readonly connection = el("span", { class: "connection", role: "status" });
  private readonly banner = el("div", { class: "banner", role: "alert", hidden: true });
  private readonly tabs = el("div", { role: "tablist", "aria-label": "Panels" });
  private readonly bodies = el("div", { class: "bodies" });
  private readonly panel: HTMLElement;
  private readonly panelButton: HTMLButtonElement;
  private readonly toasts = el("div", { class: "toasts", "aria-live": "polite" });
  private streams = true; // what is shown comes from the server
  private wasOpen = false;
  private readonly log = el("ol", { class: "log", "aria-label": "Messages" });

  constructor(keys: Keys) {
    this.panelButton = button("Panel", "panel", () => this.togglePanel());
    this.panel = el("aside", { id: "panel", "aria-label": "Panel" }, this.tabs, this.bodies);
    const theme = button("Dark or light", "theme", () => this.switchTheme());
    document.body.prepend(
      el("header", {},
        el("span", { class: "logo", "aria-hidden": "true" }), this.title, this.mode, this.connection,
        el("span", { class: "space" }), this.actions, theme, this.panelButton),
      this.banner,
      el("div", { id: "body" }, this.main, this.panel),
      this.toasts);
    this.setPanelOpen(innerWidth > 700);
    const chosen = remembered("theme");
    if (chosen) document.documentElement.dataset.theme = chosen;
    keys.add({ keys: ["p"], group: "Page", text: "Show or hide the panel", run: () => this.togglePanel() });
    keys.add({ keys: ["l"], group: "Page", text: "Dark or light", run: () => this.switchTheme() });
  }

  setTitle(title: string, mode: Mode, streams: boolean): void {
    this.streams = streams;
    this.title.textContent = title;
    this.mode.textContent = kModeNames[mode];
    document.title = `${title} – Stipple`;
  }

  addAction(action: HTMLElement): void {
    this.actions.append(action);
  }

  setConnection(state: ConnectionState): void {
    this.connection.dataset.state = state;
    this.connection.textContent = { connecting: "connecting", open: "connected", lost: "not connected" }[state];
    if (state === "open") this.wasOpen = true;
    if (state !== "connecting") this.banner.hidden = state === "open";
    this.banner.textContent = this.wasOpen
      ? `The server has ended; ${this.streams ? "this is the last picture." : "the model stays here until the page is closed."}`
      : "There is no answer from the server.";
  }

  // A tab of the panel; returns what it shows.
  addTab(name: string, onShown: (isShown: boolean) => void = () => {}): HTMLElement {
    const id = `tab-${name.toLowerCase()}`;
    const body = el("section", { role: "tabpanel", id, "aria-label": name, hidden: true });
    const tab = el("button", { type: "button", role: "tab", "aria-controls": id, "aria-selected": "false" }, name);
    tab.addEventListener("click", () => this.select(tab));
    tab.addEventListener("keydown", (event) => this.walkTabs(event, tab));
    body.addEventListener("shown", () => onShown(!body.hidden));
    this.tabs.append(tab);
    this.bodies.append(body);
    if (this.tabs.children.length === 1) this.select(tab);
    else tab.tabIndex = -1;
    return body;
  }

  // The tab with all messages.
  addLog(): void {
    this.addTab("Messages").append(this.log);
  }

  notify(notice: Omit<Notice, "type">): void {
    this.log.prepend(
      el("li", { class: notice.kind }, el("time", {}, new Date().toLocaleTimeString()), " ", notice.text));
    const toast = el("div", { class: `toast ${notice.kind}` }, el("span", {}, notice.text));
    const close = () => toast.remove();
    toast.append(button("Close", "close", close));
    this.toasts.append(toast);
    if (notice.kind !== "error") setTimeout(close, kToastMs);
  }

  private select(tab: HTMLButtonElement): void {
    for (const [i, other] of [...this.tabs.children].entries()) {
      const isSelected = other === tab;
      other.setAttribute("aria-selected", String(isSelected));
      (other as HTMLElement).tabIndex = isSelected ? 0 : -1;
      const body = this.bodies.children[i] as HTMLElement;
      if (body.hidden === !isSelected) continue;
      body.hidden = !isSelected;
      this.bodies.scrollTop = 0;
      body.dispatchEvent(new Event("shown"));
    }
  }

  private walkTabs(event: KeyboardEvent, tab: HTMLButtonElement): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const all = [...this.tabs.children] as HTMLButtonElement[];
    const next = all[(all.indexOf(tab) + step + all.length) % all.length];
    this.select(next);
    next.focus();
    event.preventDefault();
  }

  private togglePanel(): void {
    this.setPanelOpen(this.panel.hasAttribute("hidden"));
  }

  setPanelOpen(isOpen: boolean): void {
    this.panel.hidden = !isOpen;
    this.panelButton.setAttribute("aria-expanded", String(isOpen));
    this.panelButton.setAttribute("aria-controls", this.panel.id);
  }

  private switchTheme(): void {
    const root = document.documentElement;
    const now = root.dataset.theme ?? (matchMedia("(prefers-color-scheme: light)").matches ? "light" : "dark");
    root.dataset.theme = now === "dark" ? "light" : "dark";
    remember("theme", root.dataset.theme);
  }
}

// Storage may be forbidden, as in private windows.
function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`stipple-${name}`, value);
  } catch {
    // The choice then holds until the page is closed.
  }
}

function remembered(name: string): string | null {
  try {
    return localStorage.getItem(`stipple-${name}`);
  } catch {
    return null;
  }
}
