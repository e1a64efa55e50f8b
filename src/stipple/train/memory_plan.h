// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a device's own memory is divided between photos and Gaussians.
#include <cstddef>
#include <span>

#include "stipple/backend/backend.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct MemoryNeeds {
  std::size_t photo_bytes = 0;       // of all training views, on the device
  std::size_t largest_view_px = 0;   // number of pixels
  int sh_degree = 3;                 // at the end of the run
  int batch = 1;                     // views per step
  std::size_t wanted_gaussians = 0;  // 0 means as many as fit
};

MemoryNeeds memory_needs(const Scene& scene, std::span<const std::size_t> views);

struct MemoryPlan {
  std::size_t photo_bytes = 0;    // for photos that stay on the device
  std::size_t max_gaussians = 0;  // that fit beside them, even during a refinement; 0 if not one image fits
};

// If the wanted Gaussians fit beside all photos, all photos stay on the device; otherwise photos get at most
// a quarter of the memory. The memory of a pass is the backend's estimate.
MemoryPlan plan_memory(const Backend& backend, const MemoryNeeds& needs);

// The parameters of one Gaussian, in bytes.
std::size_t parameter_bytes(int sh_degree);

// The training state of this many Gaussians, in bytes: parameters, both moments, statistics and the 3D
// filter.
std::size_t train_state_bytes(std::size_t count, int sh_degree);

// A round number about a tenth below `count`, to suggest when `count` Gaussians did not fit.
std::size_t fewer_gaussians(std::size_t count);

// Throws OutOfMemory unless this many bytes can be allocated now. Called before a change of several
// allocations, so that it happens completely or not at all.
void require_room(Backend& backend, std::size_t bytes);

}  // namespace stipple
