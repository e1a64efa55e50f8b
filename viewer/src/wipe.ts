// SPDX-License-Identifier: Apache-2.0
// A line across the picture that the visitor moves: what is on its right side is shown of something else.
import { el } from "./dom";

export class Wipe {
  readonly element: HTMLElement;
  position = 0.5;

  constructor(name: string, private readonly moved: () => void) {
    this.element = el("div", {
      class: "wipe", role: "slider", tabindex: "0", "aria-label": name, "aria-valuemin": 0, "aria-valuemax": 100, hidden: true,
    }, el("span", {}));
    this.element.addEventListener("pointerdown", (event) => {
      event.stopPropagation(); // not a drag of the model
      this.element.setPointerCapture(event.pointerId);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (!this.element.hasPointerCapture(event.pointerId)) return;
      event.stopPropagation();
      const box = this.element.parentElement!.getBoundingClientRect();
      this.move((event.clientX - box.left) / box.width);
    });
    this.element.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -0.02, ArrowRight: 0.02, Home: -1, End: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      this.move(this.position + step);
    });
    this.move(0.5);
  }

  private move(position: number): void {
    this.position = Math.min(1, Math.max(0, position));
    this.element.style.left = `${100 * this.position}%`;
    this.element.setAttribute("aria-valuenow", String(Math.round(100 * this.position)));
    this.moved();
  }
}
