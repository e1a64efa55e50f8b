// SPDX-License-Identifier: Apache-2.0
// Selects Gaussians with a round brush, removes them, and saves what is left.
import { under } from "../brush_selection";
import { boxNumbers } from "../box";
import { inCamera } from "../camera_math";
import { choice } from "../choice";
import { addressOf } from "../connection";
import { button, el, svg } from "../dom";
import { base64OfBytes } from "../embedded";
import { isTyping } from "../keys";
import type { LocalView } from "../local_view";
import type { Hello } from "../protocol";
import type { Stage } from "../stage";
import { numberField } from "./fields";
import { Overlay, type Tool } from "./tool";

const kModes = ["Add", "Subtract"] as const;
const kDepths = ["What is in front", "All the way through"] as const;

export class BrushTool implements Tool {
  readonly name = "Brush";
  readonly element: HTMLElement;

  private mode: (typeof kModes)[number] = "Add";
  private depth: (typeof kDepths)[number] = "What is in front";
  private radius = 24; // CSS pixels
  private readonly overlay: Overlay;
  private readonly circle = svg("circle", { class: "brush" });
  private last: [number, number] | null = null; // of the stroke
  private deepest = Infinity;
  private isFirst = true; // change of the stroke
  private isActive = false;

  private readonly count = el("output", { class: "big", "aria-label": "Selected Gaussians" });
  private readonly removed = el("p", { class: "hint", role: "status" });
  private readonly size = numberField("Radius in pixels", { min: 1, max: 500, step: 1, short: "Radius" }, 24, (v) => (this.radius = v));
  private readonly remove = button("Delete", null, () => this.change(() => this.local.edits!.removeSelected()));
  private readonly undo = button("Undo", null, () => this.change(() => this.local.edits!.undo()));
  private readonly redo = button("Redo", null, () => this.change(() => this.local.edits!.redo()));
  private readonly none = button("Select none", null, () => this.change(() => this.local.edits!.clearSelection()));
  private readonly invert = button("Invert", null, () => this.change(() => this.local.edits!.invertSelection()));

  constructor(private readonly stage: Stage, private readonly local: LocalView, hello: Hello) {
    this.overlay = new Overlay(stage, () => {});
    this.overlay.element.append(this.circle);
    this.element = el("div", { class: "tool" },
      choice("Brush", kModes, this.mode, (mode) => (this.mode = mode)).element,
      choice("Depth", kDepths, this.depth, (depth) => (this.depth = depth)).element,
      this.size.element,
      el("div", {}, this.count, this.removed),
      el("div", { class: "buttons" }, this.remove, this.undo, this.redo, this.none, this.invert),
      el("p", { class: "hint" },
        "Drag to select, with Alt to do the opposite. The right button, two fingers and the wheel still move the view. ",
        "Delete removes; Ctrl+Z undoes."),
      hello.can_save ? new SaveForm(local, hello).element : null);

    const { frame } = stage;
    // Before the controls, which leave alone what has been taken.
    frame.addEventListener("pointerdown", (event) => this.press(event), { capture: true });
    frame.addEventListener("pointermove", (event) => this.move(event));
    frame.addEventListener("pointerup", () => (this.last = null));
    frame.addEventListener("pointercancel", () => (this.last = null));
    frame.addEventListener("pointerleave", () => this.last === null && this.circle.setAttribute("r", "0"));
    addEventListener("keydown", (event) => this.key(event));
    local.onChange(() => this.show());
    this.show();
  }

  activate(): void {
    this.isActive = true;
    this.overlay.show(true);
    this.stage.frame.classList.add("brushing");
  }

  deactivate(): void {
    this.isActive = false;
    this.last = null;
    this.overlay.show(false);
    this.stage.frame.classList.remove("brushing");
  }

  private press(event: PointerEvent): void {
    if (!this.isActive || event.button !== 0 || !event.isPrimary || event.shiftKey || !this.local.editable) return;
    event.preventDefault();
    this.stage.frame.focus(); // for the keys
    this.stage.frame.setPointerCapture(event.pointerId);
    this.last = this.overlay.at(event);
    this.isFirst = true;
    this.deepest = this.depth === "What is in front" ? this.depthBehind(this.last) : Infinity;
    this.paint(this.last, event.altKey);
  }

  private move(event: PointerEvent): void {
    if (!this.isActive) return;
    const at = this.overlay.at(event);
    const values = { cx: at[0], cy: at[1], r: this.radius };
    for (const [name, value] of Object.entries(values)) this.circle.setAttribute(name, value.toFixed(1));
    if (this.last) this.paint(at, event.altKey);
  }

  // The depth of the surface under the pointer and as much behind it as the brush is wide.
  private depthBehind([x, y]: [number, number]): number {
    const camera = this.stage.camera();
    const point = this.local.surfaceAt(camera, x, y);
    if (!point) return Infinity;
    const depth = inCamera(camera, point)[2];
    return depth * (1 + (2 * this.radius) / camera.fx);
  }

  private paint(to: [number, number], isOpposite: boolean): void {
    const stroke = { from: this.last!, to, radius: this.radius, deepest: this.deepest };
    this.last = to;
    const { editable: model, edits, crop } = this.local;
    let touched = under(stroke, this.stage.camera(), model!);
    if (crop) touched = touched.filter((i) => this.local.isShown(model!, i));
    const before = edits!.selectedCount;
    edits!.select(touched, (this.mode === "Add") !== isOpposite, !this.isFirst);
    if (edits!.selectedCount === before) return;
    this.isFirst = false;
    this.local.edited();
  }

  private key(event: KeyboardEvent): void {
    if (!this.isActive || isTyping(event)) return;
    const { edits } = this.local;
    if (!edits) return;
    const key = event.key.toLowerCase(), isCommand = event.ctrlKey || event.metaKey;
    const run =
      isCommand && (key === "y" || (key === "z" && event.shiftKey)) ? () => edits.redo()
      : isCommand && key === "z" ? () => edits.undo()
      : !isCommand && (key === "delete" || key === "backspace") ? () => edits.removeSelected()
      : null;
    if (!run) return;
    event.preventDefault();
    this.change(run);
  }

  private change(run: () => void): void {
    if (!this.local.edits) return;
    run();
    this.local.edited();
  }

  private show(): void {
    const { edits, editable: model } = this.local;
    const selected = edits?.selectedCount ?? 0, removed = edits?.removedCount ?? 0;
    this.count.textContent = `${selected.toLocaleString("en")} selected`;
    this.removed.textContent =
      `${removed.toLocaleString("en")} deleted, ${((model?.count ?? 0) - removed).toLocaleString("en")} left`;
    this.remove.disabled = this.none.disabled = selected === 0;
    this.undo.disabled = !edits?.canUndo;
    this.redo.disabled = !edits?.canRedo;
    this.invert.disabled = !edits;
  }
}

// Asks the server to save what is left of the model.
class SaveForm {
  readonly element: HTMLElement;
  private readonly name: HTMLInputElement;
  private readonly overwrite = button("Overwrite it", null, () => void this.save(true), { class: "danger" });
  private readonly answer = el("p", { class: "hint", role: "status" });

  constructor(private readonly local: LocalView, hello: Hello) {
    this.name = el("input", { type: "text", "aria-label": "Name of the file", value: editedName(hello.models[0].name) });
    this.name.addEventListener("input", () => (this.overwrite.hidden = true));
    this.overwrite.hidden = true;
    this.element = el("form", { class: "tool" },
      el("h2", {}, "Save"),
      el("p", { class: "hint" }, "Without what has been deleted and, if Crop hides it, what is outside of the box; in ",
        el("code", {}, hello.folder ?? "the folder of the model")),
      this.name,
      el("div", { class: "buttons" }, el("button", { type: "submit" }, "Save"), this.overwrite),
      this.answer);
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.save(false);
    });
  }

  private async save(overwrite: boolean): Promise<void> {
    const { edits, crop } = this.local;
    if (!edits) return;
    this.overwrite.hidden = true;
    this.answer.textContent = "Saving…";
    try {
      const response = await fetch(addressOf("save"), {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({
          name: this.name.value, overwrite, removed: base64OfBytes(edits.removedBits()), crop: crop && boxNumbers(crop),
        }),
      });
      const answer = (await response.json()) as { path?: string; count?: number; error?: string };
      this.answer.textContent = response.ok
        ? `${answer.path} has ${answer.count!.toLocaleString("en")} Gaussians.`
        : (answer.error ?? `The server answered ${response.status}.`);
      this.overwrite.hidden = response.status !== 409;
    } catch {
      this.answer.textContent = "The server did not answer; nothing was saved.";
    }
  }
}

// garden.ply becomes garden_edited.ply; what cannot be written is saved as .ply.
function editedName(name: string): string {
  const [, stem, ending] = /^(.*?)((?:\.compressed)?\.(?:ply|splat|spz|sog|glb))?$/.exec(name)!;
  return `${stem.replace(/\.[a-z-]+$/i, "")}_edited${ending ?? ".ply"}`;
}
