// SPDX-License-Identifier: Apache-2.0
// A picture that the visitor's own GPU draws.
import type { SplatMesh } from "@sparkjsdev/spark";
import type { Appearance, Picture } from "./picture";
import type { Bounds, Camera } from "./protocol";
import { SplatScene } from "./splat_scene";

export class LocalPicture implements Picture {
  readonly element: HTMLElement;
  readonly scene: SplatScene;

  private camera: Camera | null = null;
  private appearance: Appearance | null = null;
  private isResting = true;
  private isFrameAsked = false;
  private mustSort = false;
  private sorting: Promise<void> | null = null;
  private settledListener: (isSettled: boolean) => void = () => {};
  private readonly waiting: (() => void)[] = [];

  // Throws if the browser has no WebGL2.
  constructor(bounds: Bounds, antialiased: boolean) {
    this.scene = new SplatScene(bounds, antialiased);
    this.element = this.scene.canvas;
    this.element.classList.add("local-picture");
  }

  // Calls back when the picture is final, and when it no longer is.
  onSettled(listener: (isSettled: boolean) => void): void {
    this.settledListener = listener;
  }

  look(camera: Camera): void {
    this.camera = camera;
    this.isResting = false;
    this.scene.setCamera(camera);
    this.changed();
  }

  addMesh(mesh: SplatMesh): void {
    this.scene.meshes.add(mesh);
    if (this.appearance) this.scene.setAppearance(this.appearance);
    this.changed();
  }

  removeMesh(mesh: SplatMesh): void {
    this.scene.meshes.remove(mesh);
    this.changed();
  }

  setAppearance(appearance: Appearance): void {
    this.appearance = appearance;
    this.scene.setAppearance(appearance);
    this.changed();
  }

  rest(): void {
    this.isResting = true;
  }

  // To be called when something in the scene has changed. What changes neither colours nor depths needs no sorting.
  changed(needsSorting = true): void {
    this.mustSort ||= needsSorting;
    this.settledListener(false);
    this.askForFrame();
  }

  // Resolves when the screen shows the present camera and scene, sorted.
  settled(): Promise<void> {
    return this.isSettled() ? Promise.resolve() : new Promise((done) => this.waiting.push(done));
  }

  async capture(): Promise<ImageBitmap> {
    await this.settled();
    this.scene.draw(); // the browser clears the canvas after it has been shown
    return createImageBitmap(this.element as HTMLCanvasElement);
  }

  private isSettled(): boolean {
    return !this.isFrameAsked && !this.mustSort && this.sorting === null;
  }

  private askForFrame(): void {
    if (this.isFrameAsked || this.isResting || !this.camera) return;
    this.isFrameAsked = true;
    requestAnimationFrame(() => this.frame());
  }

  private frame(): void {
    this.isFrameAsked = false;
    // A sort takes longer than a frame, so that the frames meanwhile use the order of the last one.
    if (this.mustSort && !this.sorting) {
      this.mustSort = false;
      this.sorting = this.scene.sort().finally(() => {
        this.sorting = null;
        this.askForFrame();
      });
    }
    this.scene.draw();
    if (!this.isSettled()) return;
    this.settledListener(true);
    for (const done of this.waiting.splice(0)) done();
  }
}
