// SPDX-License-Identifier: Apache-2.0
// Making elements.

type Child = Node | string | null;
type Properties = Record<string, string | number | boolean | ((event: never) => void) | null>;

// An element with these attributes; functions are listeners ("onclick"), true is an attribute without a value, and false and
// null leave it out.
export function el<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag, properties: Properties = {}, ...children: Child[]
): HTMLElementTagNameMap[Tag] {
  return filled(document.createElement(tag), properties, children);
}

export function svg<Tag extends keyof SVGElementTagNameMap>(
  tag: Tag, properties: Properties = {}, ...children: Child[]
): SVGElementTagNameMap[Tag] {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), properties, children);
}

function filled<E extends Element>(element: E, properties: Properties, children: Child[]): E {
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, String(value));
  }
  for (const child of children) if (child !== null) element.append(child);
  return element;
}

// Icons of 16x16, drawn as strokes.
const kIcons = {
  pause: "M5.5 3.5v9M10.5 3.5v9",
  play: "M5 3.2l7.5 4.8L5 12.8z",
  save: "M3 3h8l2 2v8H3zM5.5 3v3.5h5V3M5 13V9.5h6V13",
  stop: "M4 4h8v8H4z",
  help: "M5.8 6a2.2 2.2 0 1 1 3.2 2c-.7.4-1 .8-1 1.6M8 12v.2",
  panel: "M2.5 3.5h11v9h-11zM9.8 3.5v9",
  theme: "M8 2.5a5.5 5.5 0 1 0 0 11zM8 2.5a5.5 5.5 0 0 1 0 11",
  photo: "M2.5 4.5h3l1-1.5h3l1 1.5h3v8h-11zM8 6.2a2.2 2.2 0 1 0 0 4.4 2.2 2.2 0 0 0 0-4.4z",
  camera: "M2 5h8v6H2zM10 7.2l4-2v5.6l-4-2",
  home: "M2.5 8L8 3l5.5 5M4 7v6h3V9.5h2V13h3V7",
  close: "M4 4l8 8M12 4l-8 8",
  left: "M10 3.5L5.5 8l4.5 4.5",
  right: "M6 3.5L10.5 8 6 12.5",
  whole: "M3 6V3h3M10 3h3v3M13 10v3h-3M6 13H3v-3",
} as const;
export type Icon = keyof typeof kIcons;

export function icon(name: Icon): SVGSVGElement {
  return svg(
    "svg", { viewBox: "0 0 16 16", class: "icon", "aria-hidden": "true" },
    svg("path", { d: kIcons[name] }));
}

// A button that shows an icon alone, or with its name.
export function button(
  name: string, shape: Icon | null, onclick: (event: MouseEvent) => void, options: { text?: boolean; class?: string } = {},
): HTMLButtonElement {
  const text = options.text ?? shape === null;
  return el(
    "button",
    { type: "button", class: options.class ?? null, title: text ? null : name, "aria-label": text ? null : name, onclick },
    shape && icon(shape), text ? name : null);
}

// Offers bytes as a download.
export function download(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  el("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
