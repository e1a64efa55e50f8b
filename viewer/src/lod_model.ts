// SPDX-License-Identifier: Apache-2.0
// A streamed model: keeps those levels of its pieces loaded that the camera needs.
import { addressOf } from "./connection";
import { LoadedModel } from "./loaded_model";
import { kNoLevel, planLevels, sizeOnScreen, type Leaf } from "./lod_plan";
import { fetchBytes, problemOf } from "./model_bytes";
import type { Camera } from "./protocol";

const kBudget = 2_000_000; // Gaussians: about 300 MB with harmonics of degree 3
const kLoads = 3; // at once
const kPlanMs = 150; // at most so often

interface Piece {
  leaf: Leaf;
  wanted: number; // indices of levels, or kNoLevel
  shown: number;
  model: LoadedModel | null;
  loading: { level: number; abort: AbortController } | null;
}

export class LodModel {
  private readonly pieces: Piece[];
  private camera: Camera | null = null;
  private timer = 0;
  private readonly problems = new Set<string>(); // that the visitor knows of

  private constructor(
    leaves: Leaf[], private readonly changed: (added: LoadedModel | null, removed: LoadedModel | null) => void,
    private readonly fail: (problem: string) => void,
  ) {
    this.pieces = leaves.map((leaf) => ({ leaf, wanted: kNoLevel, shown: kNoLevel, model: null, loading: null }));
  }

  static async open(
    url: string, changed: (added: LoadedModel | null, removed: LoadedModel | null) => void,
    fail: (problem: string) => void,
  ): Promise<LodModel> {
    const response = await fetch(addressOf(url));
    if (!response.ok) throw new Error(await problemOf(response));
    const { leaves } = (await response.json()) as { leaves: Leaf[] };
    return new LodModel(leaves, changed, fail);
  }

  // Whether everything that the camera needs is there.
  get isComplete(): boolean {
    return this.timer === 0 && this.pieces.every((piece) => piece.shown === piece.wanted);
  }

  look(camera: Camera): void {
    this.camera = camera;
    if (this.timer) return;
    this.timer = window.setTimeout(() => {
      this.timer = 0;
      this.plan();
    }, kPlanMs);
  }

  private plan(): void {
    const plan = planLevels(this.pieces.map((piece) => piece.leaf), this.camera!, kBudget);
    this.pieces.forEach((piece, i) => {
      piece.wanted = plan[i];
      if (piece.loading && piece.loading.level !== piece.wanted && piece.loading.level !== this.coarsest(piece)) {
        piece.loading.abort.abort();
        piece.loading = null;
      }
      if (piece.wanted === kNoLevel) this.show(piece, kNoLevel, null);
    });
    if (this.isComplete) this.changed(null, null); // for who waits for that
    this.loadMore();
  }

  private coarsest(piece: Piece): number {
    return piece.leaf.levels.length - 1;
  }

  // First something of everything, then what is largest on the screen.
  private loadMore(): void {
    const camera = this.camera!;
    const waiting = this.pieces
      .filter((piece) => !piece.loading && piece.wanted !== kNoLevel && piece.shown !== piece.wanted)
      .map((piece) => ({ piece, isEmpty: piece.model === null, size: sizeOnScreen(piece.leaf, camera) }))
      .sort((a, b) => Number(b.isEmpty) - Number(a.isEmpty) || b.size - a.size);
    const free = kLoads - this.pieces.filter((piece) => piece.loading).length;
    for (const { piece, isEmpty } of waiting.slice(0, Math.max(0, free))) {
      void this.load(piece, isEmpty ? this.coarsest(piece) : piece.wanted);
    }
  }

  private async load(piece: Piece, level: number): Promise<void> {
    const loading = { level, abort: new AbortController() };
    piece.loading = loading;
    try {
      const bytes = await fetchBytes(addressOf(piece.leaf.levels[level].url), () => {}, loading.abort.signal);
      const model = await LoadedModel.decode(bytes, "spz");
      if (piece.loading !== loading) {
        model.mesh.dispose();
        return;
      }
      piece.loading = null;
      this.show(piece, level, model);
    } catch (error) {
      if (piece.loading !== loading) return; // no longer wanted
      piece.loading = null;
      piece.wanted = piece.shown; // until the camera moves
      const problem = error instanceof Error ? error.message : String(error);
      if (!this.problems.has(problem)) this.fail(problem);
      this.problems.add(problem);
      if (this.isComplete) this.changed(null, null);
    }
    this.loadMore();
  }

  private show(piece: Piece, level: number, model: LoadedModel | null): void {
    const old = piece.model;
    piece.model = model;
    piece.shown = level;
    if (old || model) this.changed(model, old);
    old?.mesh.dispose();
  }
}
