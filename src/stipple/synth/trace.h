// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <span>

#include "stipple/synth/still_life.h"

namespace stipple::synth {

// The objects that the rays of a cone may hit: mostly few, so that finding them once for all rays pays off.
class Candidates {
 public:
  Candidates(const StillLife& scene, const Cone& cone) { gather(scene.things, cone); }

  bool empty() const { return count_ == 0; }
  std::span<const Object* const> objects() const { return {objects_.data(), count_}; }

 private:
  void gather(const Group& group, const Cone& cone);

  std::array<const Object*, 128> objects_;
  std::size_t count_ = 0;
};

struct Hit {
  const Object* object;
  float distance;
};

// What the ray hits first, or the dome if it hits nothing else. The ray must lie in the candidates' cone.
Hit first_hit(const StillLife& scene, const Candidates& candidates, const Ray& ray);
Hit first_hit(const StillLife& scene, const Ray& ray);

// Whether a candidate blocks the ray at any distance. The ground and the dome never do.
bool is_blocked(const Candidates& candidates, const Ray& ray);

}  // namespace stipple::synth
