// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/trace.h"

#include <algorithm>
#include <cassert>

namespace stipple::synth {

void Candidates::gather(const Group& group, const Cone& cone) {
  if (!touches(cone, group.bound)) return;
  for (const Object& object : group.objects) {
    assert(count_ < objects_.size());
    if (touches(cone, object.bound)) objects_[count_++] = &object;
  }
  for (const Group& part : group.parts) gather(part, cone);
}

Hit first_hit(const StillLife& scene, const Candidates& candidates, const Ray& ray) {
  Hit first{&scene.ground, distance_to(std::get<Disc>(scene.ground.shape), ray)};
  for (const Object* object : candidates.objects())
    if (const float distance = distance_to(object->shape, ray); distance < first.distance)
      first = {object, distance};
  if (first.distance < kNever) return first;  // all objects are inside the dome
  return {&scene.dome, distance_to(std::get<Ball>(scene.dome.shape), ray)};
}

Hit first_hit(const StillLife& scene, const Ray& ray) {
  return first_hit(scene, Candidates(scene, Cone{ray.origin, ray.direction, 0, 1}), ray);
}

bool is_blocked(const Candidates& candidates, const Ray& ray) {
  return std::ranges::any_of(candidates.objects(),
                             [&](const Object* object) { return distance_to(object->shape, ray) < kNever; });
}

}  // namespace stipple::synth
