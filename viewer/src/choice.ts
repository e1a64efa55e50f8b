// SPDX-License-Identifier: Apache-2.0
// A row of buttons of which one is pressed.
import { el } from "./dom";

export interface Choice<T extends string> {
  element: HTMLElement;
  set(value: T): void; // and tells
}

export function choice<T extends string>(
  name: string, values: readonly T[], value: T, changed: (value: T) => void,
): Choice<T> {
  const buttons = values.map((v) =>
    el("button", { type: "button", "aria-pressed": String(v === value), onclick: () => set(v) }, v));
  const set = (v: T) => {
    buttons.forEach((b, i) => b.setAttribute("aria-pressed", String(values[i] === v)));
    changed(v);
  };
  return { element: el("div", { class: "choice", role: "group", "aria-label": name }, ...buttons), set };
}
