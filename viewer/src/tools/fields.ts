// SPDX-License-Identifier: Apache-2.0
// Inputs that tools use.
import { el } from "../dom";

export interface NumberField {
  element: HTMLElement;
  input: HTMLInputElement;
  set(value: number): void; // without telling; not while the visitor types
}

// A number with a label; tells when the visitor has changed it to something finite.
export function numberField(
  name: string, options: { min?: number; max?: number; step?: number | "any"; short?: string }, value: number,
  changed: (value: number) => void,
): NumberField {
  const input = el("input", {
    type: "number", "aria-label": name, step: options.step ?? "any", min: options.min ?? null, max: options.max ?? null,
    value: rounded(value),
  });
  input.addEventListener("change", () => {
    const number = input.valueAsNumber;
    if (Number.isFinite(number) && input.checkValidity()) changed(number);
  });
  const set = (v: number) => {
    if (document.activeElement !== input || !input.matches(":focus-visible")) input.value = rounded(v);
  };
  return { element: el("label", { class: "small-field" }, el("span", {}, options.short ?? name), input), input, set };
}

// With as many digits as people read.
export const rounded = (value: number): string => String(Number(value.toPrecision(6)));

export function checkbox(name: string, isOn: boolean, changed: (isOn: boolean) => void) {
  const input = el("input", { type: "checkbox" });
  input.checked = isOn;
  input.addEventListener("change", () => changed(input.checked));
  return { element: el("label", { class: "check" }, input, name), input };
}
