// SPDX-License-Identifier: Apache-2.0
// Where a ray meets what the Gaussians show.
import { dot, rotated, sub, type Quaternion } from "./camera_math";
import type { Vec3 } from "./protocol";

export interface Ray {
  origin: Vec3;
  direction: Vec3; // of unit length
}

export interface Ellipsoid {
  center: Vec3;
  scales: Vec3; // standard deviations
  rotation: Quaternion; // world_from_gaussian
  opacity: number;
}

const kFaintest = 1 / 255;
const kLeastSeen = 0.2; // of the light that must have been stopped for a surface to be there

// The opacity with which a Gaussian covers the ray, and the distance at which it is densest on it.
export function crossing(ray: Ray, g: Ellipsoid): { distance: number; alpha: number } {
  const inverse: Quaternion = [g.rotation[0], -g.rotation[1], -g.rotation[2], -g.rotation[3]];
  const local = (v: Vec3) => rotated(inverse, v).map((x, i) => x / Math.max(g.scales[i], 1e-12)) as Vec3;
  const o = local(sub(ray.origin, g.center)), d = local(ray.direction);
  const distance = -dot(o, d) / dot(d, d);
  const r2 = Math.max(0, dot(o, o) - distance * distance * dot(d, d));
  return { distance, alpha: g.opacity * Math.exp(-0.5 * r2) };
}

// The distance at which half of the light that the Gaussians stop has been stopped; null if they stop little of it.
export function surfaceDistance(ray: Ray, gaussians: Iterable<Ellipsoid>, nearest: number): number | null {
  const crossings = [];
  for (const gaussian of gaussians) {
    const c = crossing(ray, gaussian);
    if (c.distance > nearest && c.alpha >= kFaintest) crossings.push(c);
  }
  crossings.sort((a, b) => a.distance - b.distance);
  const stopped = 1 - crossings.reduce((t, c) => t * (1 - Math.min(0.99, c.alpha)), 1);
  if (stopped < kLeastSeen) return null;
  let transmittance = 1;
  for (const c of crossings) {
    transmittance *= 1 - Math.min(0.99, c.alpha);
    if (1 - transmittance >= stopped / 2) return c.distance;
  }
  return null;
}
