// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a device's own memory is shared out between photos and Gaussians.
#include <cstddef>
#include <span>

#include "stipple/backend/backend.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct MemoryNeeds {
  std::size_t photo_bytes = 0;       // of all views to train on, on the device
  std::size_t largest_view_px = 0;   // pixels
  int sh_degree = 3;                 // that is reached in the end
  int batch = 1;                     // views a step
  std::size_t wanted_gaussians = 0;  // 0: as many as there is room for
};

MemoryNeeds memory_needs(const Scene& scene, std::span<const std::size_t> views);

struct MemoryPlan {
  std::size_t photo_bytes = 0;    // for photos that stay on the device
  std::size_t max_gaussians = 0;  // that fit beside them, also while they are refined
};

// If what is wanted fits beside all photos, these all stay on the device; else they get at most a quarter.
// What a pass takes is the backend's to say.
MemoryPlan plan_memory(const Backend& backend, const MemoryNeeds& needs);

// What the parameters of one Gaussian take.
std::size_t parameter_bytes(int sh_degree);

// What so many Gaussians take in training: parameters, both moments, statistics.
std::size_t train_state_bytes(std::size_t count, int sh_degree);

// Where so many Gaussians were too many, a round number that is worth a try.
std::size_t fewer_gaussians(std::size_t count);

}  // namespace stipple
