// SPDX-License-Identifier: Apache-2.0
// The area of the picture: keeps the picture as large as fits, in the aspect of the camera that is looked through, and asks
// for it whenever the viewpoint, the size or the appearance changes.
import { el } from "./dom";
import type { Appearance, Picture } from "./picture";
import type { Camera } from "./protocol";
import { fovOf, type Viewpoint } from "./viewpoint";

export class Stage {
  readonly element: HTMLElement;
  readonly frame: HTMLElement; // has the picture, and everything that is drawn over it
  appearance: Appearance;
  columns = 1; // pictures beside each other

  private readonly listeners: ((camera: Camera) => void)[] = [];
  private readonly settledListeners: (() => void)[] = [];

  constructor(
    readonly picture: Picture, readonly viewpoint: Viewpoint, appearance: Appearance,
    private readonly longestPx: number, // of the picture
  ) {
    this.appearance = appearance;
    this.frame = el("div", {
      id: "picture", tabindex: "0", role: "application", "aria-label": "The model; press ? for the keys",
      "data-settled": "false",
    });
    this.frame.append(picture.element);
    this.element = el("div", { id: "stage" }, this.frame);
    picture.setAppearance(appearance);
    viewpoint.onChange(() => this.update());
    new ResizeObserver(() => this.update()).observe(this.element);
    addEventListener("visibilitychange", () => this.update());
  }

  // Calls back with the camera of the picture in CSS pixels, whenever it changes.
  onCamera(listener: (camera: Camera) => void): void {
    this.listeners.push(listener);
  }

  setAppearance(change: Partial<Appearance>): void {
    this.appearance = { ...this.appearance, ...change };
    this.setSettled(false);
    this.picture.setAppearance(this.appearance);
  }

  // Calls back whenever the final picture for the present camera and appearance has been drawn.
  onSettled(listener: () => void): void {
    this.settledListeners.push(listener);
  }

  // For who knows when the picture is final.
  setSettled(isSettled: boolean): void {
    this.frame.dataset.settled = String(isSettled);
    if (isSettled) for (const listener of this.settledListeners) listener();
  }

  get isSettled(): boolean {
    return this.frame.dataset.settled === "true";
  }

  update(): void {
    const [width, height] = this.fit();
    if (width < 2 || height < 2) return;
    if (document.hidden) {
      this.picture.rest();
      return;
    }
    this.frame.style.width = `${width}px`;
    this.frame.style.height = `${height}px`;
    this.setSettled(false);
    for (const listener of this.listeners) listener(this.camera());
    this.picture.look(this.pictureCamera(), this.viewpoint.isMoving);
  }

  // The camera in CSS pixels of the frame.
  camera(): Camera {
    const [width, height] = this.fit();
    return this.viewpoint.cameraFor(width / this.columns, height);
  }

  // The camera in pixels of the picture.
  pictureCamera(): Camera {
    const [width, height] = this.fit();
    const density = Math.min(devicePixelRatio, 2, this.longestPx / Math.max(width / this.columns, height));
    const px = (size: number) => Math.max(2, Math.round(size * density));
    return this.viewpoint.cameraFor(px(width / this.columns), px(height));
  }

  // The field of view of the free lens that shows things as large as this camera does when it is looked through.
  fovLike(camera: Camera): number {
    const { clientWidth: width, clientHeight: height } = this.element;
    const shownHeight = Math.min(height, (width / this.columns) * (camera.height / camera.width));
    return fovOf({ ...camera, height: (camera.height * height) / Math.max(1, shownHeight) });
  }

  // The size of the frame in CSS pixels.
  private fit(): [number, number] {
    const { clientWidth: width, clientHeight: height } = this.element;
    const through = this.viewpoint.through?.camera;
    if (!through) return [width, height];
    const aspect = (through.width * this.columns) / through.height;
    return width / height > aspect ? [Math.round(height * aspect), height] : [width, Math.round(width / aspect)];
  }
}
