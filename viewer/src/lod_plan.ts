// SPDX-License-Identifier: Apache-2.0
// Which level of each piece of a streamed model to show from a camera.
import { inCamera, poseOf, length, scale, add, sub } from "./camera_math";
import type { Camera, Vec3 } from "./protocol";

export interface Level {
  level: number;
  count: number; // Gaussians
  url: string;
}

export interface Leaf {
  min: Vec3;
  max: Vec3;
  levels: Level[]; // the finest first
}

export const kNoLevel = -1;

const kFinestPx = 1.5; // between neighbouring Gaussians; below this, a finer level would not be seen
const kBehind = 0.1; // how much what is outside of the picture counts, since the visitor may turn

// An index into the levels of each leaf, or kNoLevel, so that there are at most `budget` Gaussians: the coarsest level of all
// leaves, and finer ones where Gaussians are farthest apart on the screen.
export function planLevels(leaves: Leaf[], camera: Camera, budget: number): number[] {
  const sizes = leaves.map((leaf) => sizeOnScreen(leaf, camera));
  const plan = leaves.map(() => kNoLevel);
  let left = budget;
  const byImportance = leaves.map((_, i) => i).sort((a, b) => sizes[b] - sizes[a]);
  for (const i of byImportance) {
    const coarsest = leaves[i].levels.length - 1;
    if (coarsest < 0 || leaves[i].levels[coarsest].count > left) continue;
    plan[i] = coarsest;
    left -= leaves[i].levels[coarsest].count;
  }

  // One step at a time, always where it is needed most. There are hundreds of leaves at most, so a search is fast enough.
  const isFinal = plan.map((level) => level <= 0);
  for (;;) {
    let best = -1, widest = kFinestPx;
    for (let i = 0; i < leaves.length; ++i) {
      if (isFinal[i]) continue;
      const spacing = spacingPx(leaves[i].levels[plan[i]], sizes[i]);
      if (spacing > widest) [best, widest] = [i, spacing];
    }
    if (best < 0) return plan;
    const { levels } = leaves[best];
    const more = levels[plan[best] - 1].count - levels[plan[best]].count;
    if (more > left) {
      isFinal[best] = true;
      continue;
    }
    left -= more;
    plan[best] -= 1;
    isFinal[best] = plan[best] === 0;
  }
}

// The Gaussians of a leaf lie mostly on surfaces.
const spacingPx = (level: Level, sizePx: number): number => sizePx / Math.sqrt(Math.max(1, level.count));

// The diameter of a leaf in pixels, as far as it is wanted.
export function sizeOnScreen(leaf: Leaf, camera: Camera): number {
  const center = scale(add(leaf.min, leaf.max), 0.5);
  const radius = length(sub(leaf.max, leaf.min)) / 2;
  const distance = length(sub(center, poseOf(camera).position));
  // From inside, it fills the picture.
  const size = (2 * radius * camera.fy) / Math.max(distance - radius, 0.25 * radius);
  return isInView(center, radius, camera) ? size : kBehind * size;
}

function isInView(center: Vec3, radius: number, camera: Camera): boolean {
  const [x, y, z] = inCamera(camera, center);
  if (z < -radius) return false;
  // The distances to the four planes through the edges of the picture.
  const inside = (across: number, edge: number, f: number) => (across * f - edge * z) / Math.hypot(f, edge) <= radius;
  return (
    inside(x, camera.width - camera.cx, camera.fx) && inside(-x, camera.cx, camera.fx) &&
    inside(y, camera.height - camera.cy, camera.fy) && inside(-y, camera.cy, camera.fy));
}
