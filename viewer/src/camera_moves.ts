// SPDX-License-Identifier: Apache-2.0
// How a pose changes when a visitor drags, scrolls or walks. Angles are in radians, lengths in scene units.
import {
  aboutAxis, add, cross, dot, down, forward, length, multiplied, normalized, right, rotated, scale, sub, unit,
  type Pose,
} from "./camera_math";
import type { Vec3 } from "./protocol";

const kSteepest = (88 * Math.PI) / 180; // of the view above and below the horizon

// The turn of the whole view that a yaw (to the right) and a pitch (upwards) make, without passing the zenith.
function turn(pose: Pose, up: Vec3, yaw: number, pitch: number): (v: Vec3) => Pose {
  const z = forward(pose);
  const elevation = Math.asin(Math.max(-1, Math.min(1, dot(z, up))));
  // A view that is steeper already may stay so, but not become steeper.
  const highest = Math.max(kSteepest, elevation), lowest = Math.min(-kSteepest, elevation);
  const allowed = Math.max(lowest, Math.min(highest, elevation + pitch)) - elevation;
  let level = cross(z, up);
  if (length(level) < 1e-6) level = right(pose);
  const rotation = multiplied(aboutAxis(up, -yaw), aboutAxis(level, allowed));
  return (center) => ({
    position: add(center, rotated(rotation, sub(pose.position, center))),
    rotation: unit(multiplied(rotation, pose.rotation)),
  });
}

// Looks elsewhere from the same place.
export function turned(pose: Pose, up: Vec3, yaw: number, pitch: number): Pose {
  return turn(pose, up, yaw, pitch)(pose.position);
}

// Moves about the focus, which stays where it is in the picture.
export function orbited(pose: Pose, focus: Vec3, up: Vec3, yaw: number, pitch: number): Pose {
  return turn(pose, up, yaw, pitch)(focus);
}

// Moves along the camera's own axes: right, down, forward.
export function flown(pose: Pose, by: Vec3): Pose {
  return { ...pose, position: add(pose.position, rotated(pose.rotation, by)) };
}

// Moves to the right, down and forward as someone who walks on level ground and looks around.
export function walked(pose: Pose, up: Vec3, by: Vec3): Pose {
  const level = (v: Vec3) => sub(v, scale(up, dot(v, up)));
  let ahead = level(forward(pose));
  if (length(ahead) < 0.05) ahead = level(scale(down(pose), dot(forward(pose), up) > 0 ? 1 : -1)); // straight up or down
  ahead = normalized(ahead);
  const aside = cross(ahead, up);
  const step = add(add(scale(aside, by[0]), scale(up, -by[1])), scale(ahead, by[2]));
  return { ...pose, position: add(pose.position, step) };
}

// Goes nearer to the focus (factor < 1) or away from it, but not through it.
export function dollied(pose: Pose, focus: Vec3, factor: number, nearest: number): Pose {
  const away = sub(pose.position, focus);
  const distance = length(away);
  if (distance === 0) return flown(pose, [0, 0, -nearest]);
  const wanted = Math.max(distance * factor, Math.min(nearest, distance));
  return { ...pose, position: add(focus, scale(away, wanted / distance)) };
}

// How far ahead the focus is.
export function focusDepth(pose: Pose, focus: Vec3): number {
  return dot(sub(focus, pose.position), forward(pose));
}
