// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "stipple/synth/city/block_cache.h"

namespace stipple::synth::city {

struct Hit {
  float distance;                           // kNever: the sky
  const Part* part = nullptr;               // of the block; null: the ground or the sky
  std::shared_ptr<const Block> block = {};  // with the part, or below which the ground is hit

  bool is_sky() const { return distance == kNever; }
};

// Follows rays from block to block. For one thread.
class Tracer {
 public:
  Tracer(const Plan& plan, BlockCache& cache) : plan_(plan), window_(cache) {}

  const Plan& plan() const { return plan_; }

  Hit first_hit(const Ray& ray);

  // Whether a part blocks the ray before this distance. The ground never does.
  bool is_blocked(const Ray& ray, float before);

 private:
  template <class Visit>
  void walk(const Ray& ray, float end, const Visit& visit);

  Plan plan_;
  BlockWindow window_;
};

}  // namespace stipple::synth::city
