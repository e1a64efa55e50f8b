// SPDX-License-Identifier: Apache-2.0
// What a round brush touches.
import { dot } from "./camera_math";
import type { LoadedModel } from "./loaded_model";
import type { Camera } from "./protocol";

export interface Stroke {
  from: [number, number]; // in the camera's pixels
  to: [number, number];
  radius: number;
  deepest: number; // depth behind which nothing is touched
}

type Positions = Pick<LoadedModel, "forEachPosition">;

// The Gaussians whose centres the camera sees under the stroke.
export function under(stroke: Stroke, camera: Camera, model: Positions): number[] {
  const found: number[] = [];
  const [[r00, r01, r02, tx], [r10, r11, r12, ty], [r20, r21, r22, tz]] = camera.camera_from_world;
  const { fx, fy, cx, cy } = camera;
  const { from, to, radius, deepest } = stroke;
  const dx = to[0] - from[0], dy = to[1] - from[1];
  const squared = dot([dx, dy, 0], [dx, dy, 0]);
  // Without a function or an object per Gaussian: there may be millions.
  model.forEachPosition((i, x, y, z) => {
    const depth = r20 * x + r21 * y + r22 * z + tz;
    if (depth <= 0 || depth > deepest) return;
    const u = (fx * (r00 * x + r01 * y + r02 * z + tx)) / depth + cx - from[0];
    const v = (fy * (r10 * x + r11 * y + r12 * z + ty)) / depth + cy - from[1];
    const t = squared > 0 ? Math.max(0, Math.min(1, (u * dx + v * dy) / squared)) : 0;
    const a = u - t * dx, b = v - t * dy;
    if (a * a + b * b <= radius * radius) found.push(i);
  });
  return found;
}
