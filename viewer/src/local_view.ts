// SPDX-License-Identifier: Apache-2.0
// A model that the visitor's own GPU draws: its picture, and what tools do with it.
import { poseOf, rayThrough } from "./camera_math";
import { isInside, type TurnedBox } from "./box";
import { Edits, kRemoved } from "./edits";
import type { LoadedModel } from "./loaded_model";
import { LocalPicture } from "./local_picture";
import type { Camera, Hello, Vec3 } from "./protocol";
import { SplatScene } from "./splat_scene";

export class LocalView {
  readonly picture: LocalPicture;
  model: LoadedModel | null = null;
  edits: Edits | null = null;
  private crop_: TurnedBox | null = null;
  private readonly listeners: (() => void)[] = [];

  constructor(hello: Hello) {
    this.picture = new LocalPicture(hello.bounds, hello.render.antialiased);
  }

  show(model: LoadedModel): void {
    this.model = model;
    this.edits = new Edits(model.count, SplatScene.statesCapacity(model.count));
    this.picture.addMesh(model.mesh);
    for (const listener of this.listeners) listener();
  }

  // Calls back when the model is there, and whenever edits have changed.
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  // To be called after a change of the edits.
  edited(): void {
    this.picture.scene.showStates(this.edits!.states);
    this.picture.changed(false);
    for (const listener of this.listeners) listener();
  }

  get crop(): TurnedBox | null {
    return this.crop_;
  }
  set crop(box: TurnedBox | null) {
    this.crop_ = box;
    this.picture.scene.setCrop(box);
    this.picture.changed(false);
    for (const listener of this.listeners) listener();
  }

  isShown(i: number): boolean {
    if (!this.model || this.edits!.states[i] & kRemoved) return false;
    return this.crop_ === null || isInside(this.crop_, this.model.position(i));
  }

  // The surface at this place of the camera's picture.
  surfaceAt(camera: Camera, x: number, y: number): Vec3 | null {
    const ray = { origin: poseOf(camera).position, direction: rayThrough(camera, x, y) };
    return this.model?.surfaceAlong(ray, (i) => this.isShown(i)) ?? null;
  }
}
