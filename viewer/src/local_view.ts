// SPDX-License-Identifier: Apache-2.0
// A model that the visitor's own GPU draws: its picture, and what tools do with it.
import { add, poseOf, rayThrough, scale } from "./camera_math";
import { isInside, type TurnedBox } from "./box";
import { Edits, kRemoved } from "./edits";
import type { LoadedModel } from "./loaded_model";
import { LodModel } from "./lod_model";
import { LocalPicture } from "./local_picture";
import type { Camera, Hello, Vec3 } from "./protocol";
import { SplatScene } from "./splat_scene";
import type { Stage } from "./stage";
import { surfaceDistance } from "./surface";

export class LocalView {
  readonly picture: LocalPicture;
  edits: Edits | null = null; // none of a streamed model, whose pieces have no place in a file
  private lod: LodModel | null = null;
  private models: LoadedModel[] = []; // one, or the pieces of a streamed model
  private crop_: TurnedBox | null = null;
  private readonly listeners: (() => void)[] = [];

  constructor(hello: Hello) {
    this.picture = new LocalPicture(hello.bounds, hello.render.antialiased);
  }

  show(model: LoadedModel): void {
    this.edits = new Edits(model.count, SplatScene.statesCapacity(model.count));
    this.replace(model, null);
  }

  replace(added: LoadedModel | null, removed: LoadedModel | null): void {
    this.models = this.models.filter((model) => model !== removed);
    if (removed) this.picture.removeMesh(removed.mesh);
    if (added) {
      this.models.push(added);
      this.picture.addMesh(added.mesh);
    }
    this.picture.changed(false);
    for (const listener of this.listeners) listener();
  }

  // Opens a streamed model, of which more is loaded as the camera moves.
  async stream(url: string, stage: Stage, fail: (problem: string) => void): Promise<void> {
    this.lod = await LodModel.open(url, (added, removed) => this.replace(added, removed), fail);
    const look = () => this.lod!.look(stage.pictureCamera());
    stage.onCamera(look);
    look();
  }

  // Whether all is there that belongs to the picture.
  get isComplete(): boolean {
    return this.models.length > 0 && (this.lod?.isComplete ?? true);
  }

  // The model that the edits are of.
  get editable(): LoadedModel | null {
    return this.edits ? this.models[0] : null;
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

  isShown(model: LoadedModel, i: number): boolean {
    if (this.edits && this.edits.states[i] & kRemoved) return false;
    return this.crop_ === null || isInside(this.crop_, model.position(i));
  }

  // The surface at this place of the camera's picture.
  surfaceAt(camera: Camera, x: number, y: number): Vec3 | null {
    const ray = { origin: poseOf(camera).position, direction: rayThrough(camera, x, y) };
    const distance = surfaceDistance(
      this.models.flatMap((model) => model.crossings(ray, (i) => this.isShown(model, i))));
    return distance === null ? null : add(ray.origin, scale(ray.direction, distance));
  }
}
