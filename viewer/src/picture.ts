// SPDX-License-Identifier: Apache-2.0
// What the two ways to draw a model have in common: pictures that the server streams (streamed_picture.ts),
// and the visitor's own GPU (local_picture.ts). Each draws into an element of its own that fills its parent.
import type { Camera, Shown, Vec3 } from "./protocol";

export interface Appearance {
  shown: Shown;
  background: Vec3; // 0 to 1
  scaleModifier: number;
  shDegree: number;
}

export interface Picture {
  readonly element: HTMLElement;
  // Draws the model from here. The camera has the size of the element in device pixels.
  look(camera: Camera, isMoving: boolean): void;
  setAppearance(appearance: Appearance): void;
  // The picture as last drawn, at the size of the camera.
  capture(): Promise<ImageBitmap>;
  // Stops drawing, while the element is not shown; look() starts it again.
  rest(): void;
}
