// SPDX-License-Identifier: Apache-2.0
// A picture that the visitor's own GPU draws.
import type { Appearance, Picture } from "./picture";
import type { Bounds, Camera } from "./protocol";
import { SplatScene } from "./splat_scene";

export class LocalPicture implements Picture {
  readonly element: HTMLElement;
  readonly scene: SplatScene;

  private camera: Camera | null = null;
  private isResting = true;
  private isFrameAsked = false;
  private mustSort = false;
  private sorting: Promise<void> | null = null;
  private readonly waiting: (() => void)[] = [];

  // Throws if the browser has no WebGL2.
  constructor(bounds: Bounds, antialiased: boolean, private readonly onSettled: (isSettled: boolean) => void) {
    this.scene = new SplatScene(bounds, antialiased);
    this.element = this.scene.canvas;
    this.element.classList.add("local-picture");
  }

  look(camera: Camera): void {
    this.camera = camera;
    this.isResting = false;
    this.scene.setCamera(camera);
    this.changed();
  }

  setAppearance(appearance: Appearance): void {
    this.scene.setAppearance(appearance);
    this.changed();
  }

  rest(): void {
    this.isResting = true;
  }

  // To be called when something in the scene has changed. What changes neither colours nor depths needs no sorting.
  changed(needsSorting = true): void {
    this.mustSort ||= needsSorting;
    this.onSettled(false);
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
    this.onSettled(true);
    for (const done of this.waiting.splice(0)) done();
  }
}
