// SPDX-License-Identifier: Apache-2.0
// Loads a model while the visitor watches: how far it is, a way to stop it, and what went wrong.
import { addressOf } from "./connection";
import { button, el } from "./dom";
import { embeddedModel } from "./embedded";
import { LoadedModel } from "./loaded_model";
import { fetchBytes } from "./model_bytes";
import type { ModelInfo } from "./protocol";

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

export class ModelLoading {
  private readonly text = el("p", { role: "status" });
  private readonly bar = el("progress", { max: 1, "aria-label": "Loaded" });
  private readonly stop = button("Cancel", null, () => this.aborting.abort());
  private readonly again = button("Try again", null, () => void this.run());
  private readonly isEmbedded: boolean; // and so cannot be asked for again
  private readonly element = el("div", { class: "loading" }, this.text, this.bar, el("div", { class: "buttons" }, this.stop, this.again));
  private aborting = new AbortController();

  // Shows itself in `place`, and calls back when the model is there.
  constructor(
    place: HTMLElement, private readonly model: ModelInfo, private readonly index: number,
    private readonly done: (model: LoadedModel) => void,
  ) {
    this.isEmbedded = model.url === null;
    place.append(this.element);
    void this.run();
  }

  private async run(): Promise<void> {
    this.aborting = new AbortController();
    this.again.hidden = true;
    this.stop.hidden = this.isEmbedded;
    this.bar.hidden = false;
    this.bar.removeAttribute("value");
    this.text.textContent = `Loading ${this.model.name}`;
    try {
      const bytes = await this.bytes();
      this.stop.hidden = true;
      this.bar.removeAttribute("value");
      this.text.textContent = `Reading ${this.model.name}`;
      const loaded = await LoadedModel.decode(bytes, this.model.format!);
      this.element.remove();
      this.done(loaded);
    } catch (error) {
      this.fail(error);
    }
  }

  private bytes(): Promise<Uint8Array> {
    const progress = (received: number, length: number | null) => {
      const total = length ?? this.model.bytes;
      this.text.textContent =
        `Loading ${this.model.name}: ${megabytes(received)}` + (total ? ` of ${megabytes(total)}` : "");
      if (total) this.bar.value = received / total;
    };
    if (this.isEmbedded) return embeddedModel(this.index, this.model.bytes!, progress);
    return fetchBytes(addressOf(this.model.url!), progress, this.aborting.signal);
  }

  private fail(error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.text.textContent = this.aborting.signal.aborted
      ? `${this.model.name} was not loaded.`
      : `${this.model.name} cannot be shown: ${why}.`;
    this.bar.hidden = this.stop.hidden = true;
    this.again.hidden = this.isEmbedded;
  }
}
