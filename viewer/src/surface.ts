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

const kMostOpaque = 0.99;
const kLeastSeen = 0.2; // of the light that must have been stopped for a surface to be there

export interface Crossing {
  distance: number; // at which the Gaussian is densest on the ray
  alpha: number; // with which it covers the ray
}

export function crossing(ray: Ray, g: Ellipsoid): Crossing {
  const inverse: Quaternion = [g.rotation[0], -g.rotation[1], -g.rotation[2], -g.rotation[3]];
  const local = (v: Vec3) => rotated(inverse, v).map((x, i) => x / Math.max(g.scales[i], 1e-12)) as Vec3;
  const o = local(sub(ray.origin, g.center)), d = local(ray.direction);
  const distance = -dot(o, d) / dot(d, d);
  const r2 = Math.max(0, dot(o, o) - distance * distance * dot(d, d));
  return { distance, alpha: Math.min(kMostOpaque, g.opacity * Math.exp(-0.5 * r2)) };
}

// The distance at which half of the light that is stopped has been stopped; null if only little is.
export function surfaceDistance(crossings: Crossing[]): number | null {
  const stopped = 1 - crossings.reduce((t, c) => t * (1 - c.alpha), 1);
  if (stopped < kLeastSeen) return null;
  let transmittance = 1;
  for (const c of [...crossings].sort((a, b) => a.distance - b.distance)) {
    transmittance *= 1 - c.alpha;
    if (1 - transmittance >= stopped / 2) return c.distance;
  }
  return null;
}
