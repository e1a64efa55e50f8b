// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>

#include "stipple/backend/backend.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct TuneOptions {
  RenderOptions render;   // as the model is shown
  bool hold_out = false;  // do not train on the test views
  int steps = 2'000;
  std::uint64_t seed = 1;
};

// Trains the values of a model on the photos of its scene, without adding, removing or reordering Gaussians,
// so that those that are left make up for those that were removed. All of them must be usable
// (edit/finite.h). Throws OutOfMemory if the device cannot train so many. `progress` is called after each
// step; it may throw to stop.
Gaussians tune(Backend& backend, const Scene& scene, const Gaussians& gaussians, const TuneOptions& options,
               const std::function<void(int steps_done)>& progress = {});

}  // namespace stipple
