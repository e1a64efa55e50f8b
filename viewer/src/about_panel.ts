// SPDX-License-Identifier: Apache-2.0
// What is shown: the models, and the picture as it was last drawn.
import { el } from "./dom";
import { grouped } from "./format";
import type { Hello, PictureHeader } from "./protocol";

// Returns what tells of a picture that has been drawn.
export function fillAbout(place: HTMLElement, hello: Hello): (header: PictureHeader) => void {
  const rows = el("dl", { class: "about" });
  const row = (name: string, value: string) => {
    const output = el("output", { "aria-label": name }, value);
    rows.append(el("div", {}, el("dt", {}, name), el("dd", {}, output)));
    return output;
  };
  for (const model of hello.models) {
    const parts = [`${grouped(model.count)} Gaussians`, `degree ${model.sh_degree}`];
    if (model.bytes !== null) parts.push(`${(model.bytes / 1e6).toFixed(1)} MB`);
    // In training, the number changes; its tab has it.
    if (hello.mode !== "training") row(model.name, parts.join(", "));
  }
  if (hello.backend) row("Rendered by", hello.backend);
  const picture = hello.streams ? row("Picture", "–") : null;
  place.append(el("h2", {}, "About"), rows);
  return (header) => {
    if (picture) picture.textContent = `${header.width} × ${header.height}${header.is_sharp ? "" : " (a draft)"}`;
  };
}
