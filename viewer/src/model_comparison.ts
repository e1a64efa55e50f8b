// SPDX-License-Identifier: Apache-2.0
// Two models from one camera: beside each other, with a line to wipe from one to the other, or their difference.
import { choice } from "./choice";
import { el } from "./dom";
import { drawErrorMap } from "./error_map";
import type { Keys } from "./keys";
import type { Stage } from "./stage";
import type { StreamedPicture } from "./streamed_picture";
import { Wipe } from "./wipe";

const kLayouts = ["Both", "Wipe", "Difference", "First", "Second"] as const;
type Layout = (typeof kLayouts)[number];

export class ModelComparison {
  private readonly difference = el("canvas", { class: "layer", hidden: true });
  private readonly wipe: Wipe;
  private readonly labels: HTMLElement[];
  private layout: Layout = "Both";

  constructor(
    place: HTMLElement, private readonly stage: Stage, private readonly picture: StreamedPicture, names: string[], keys: Keys,
  ) {
    this.wipe = new Wipe(`${names[1]} from here on`, () => this.applyWipe());
    this.labels = names.map((name) => el("span", { class: "model-label" }, name));
    const layouts = choice("Layout", kLayouts, this.layout, (layout) => this.setLayout(layout));
    place.append(
      el("div", { class: "field" }, el("span", { class: "label" }, "Layout"), layouts.element),
      el("ol", { class: "models" }, ...names.map((name) => el("li", {}, name))),
      el("p", { class: "hint" }, "Black is equal; white is a difference of a quarter or more. " +
        "Look through a photo to see the PSNR of both models."));
    stage.frame.append(this.difference, this.wipe.element, ...this.labels);
    stage.onSettled(() => this.updateDifference());
    keys.add({
      keys: ["o"], group: "Comparison", text: "Next layout",
      run: () => layouts.set(kLayouts[(kLayouts.indexOf(this.layout) + 1) % kLayouts.length]),
    });
    this.setLayout(this.layout);
  }

  // The pictures beside each other; of two over each other, the one that is mostly seen.
  shown(): HTMLCanvasElement[] {
    const [first, second] = this.picture.canvases;
    return this.layout === "Both" ? [first, second] : [this.layout === "Second" ? second : first];
  }

  private setLayout(layout: Layout): void {
    this.layout = layout;
    const [first, second] = this.picture.canvases;
    this.stage.columns = layout === "Both" ? 2 : 1;
    this.picture.element.classList.toggle("side-by-side", layout === "Both");
    first.hidden = layout === "Second";
    second.hidden = layout === "First" || layout === "Difference";
    this.wipe.element.hidden = layout !== "Wipe";
    this.labels[0].hidden = layout === "Second" || layout === "Difference";
    this.labels[1].hidden = layout === "First" || layout === "Difference";
    this.labels[1].classList.toggle("right", layout === "Wipe");
    this.labels[1].classList.toggle("middle", layout === "Both");
    this.difference.hidden = true;
    this.applyWipe();
    this.stage.update();
  }

  private applyWipe(): void {
    this.picture.canvases[1].style.clipPath = this.layout === "Wipe" ? `inset(0 0 0 ${100 * this.wipe.position}%)` : "";
  }

  private updateDifference(): void {
    if (this.layout !== "Difference") return;
    drawErrorMap(this.difference, this.picture.canvases[0], this.picture.canvases[1]);
    this.difference.hidden = false;
  }
}
