// SPDX-License-Identifier: Apache-2.0
#pragma once
// How a device's own memory is divided between photos and Gaussians.
#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "stipple/backend/backend.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct MemoryNeeds {
  std::size_t photo_bytes = 0;                   // of all training views, on the device
  std::size_t largest_view_px = 0;               // number of pixels
  int sh_degree = 3;                             // at the end of the run
  int batch = 1;                                 // views per step
  std::size_t wanted_gaussians = 0;              // 0 means as many as fit
  std::size_t rank_count = 1;                    // the Gaussians are those of one rank
  bool has_weights = false, has_alpha = false;   // of some photo
  bool has_depth = false, has_absolute = false;  // PassSize's
  Place harmonics = Place::kDevice;              // where their arrays lie
  std::size_t most_on_host = 0;                  // Gaussians whose harmonics may lie on the host
  // Of the Gaussians, the largest share that a view shows, and the tiles that each of these touches in the
  // mean, which is estimated if it is not known.
  double visible_share = 1;
  std::optional<double> pairs_per_visible;
};

// About five in trained models, and fewer if a view shows more Gaussians than it has pixels, since these are
// small.
double estimated_pairs_per_visible(std::size_t visible, std::size_t pixels);

// What follows from the scene.
MemoryNeeds memory_needs(const Scene& scene, std::span<const std::size_t> views);

struct MemoryPlan {
  std::size_t photo_bytes = 0;  // for photos that stay on the device
  // Gaussians that fit beside them, even during a refinement; 0 if not one image fits. Of more than
  // max_on_device, the harmonics lie on the host: the device then has room for max_with_host, or for none if
  // it cannot use the host's memory, and the host for most_on_host.
  std::size_t max_on_device = 0, max_with_host = 0, most_on_host = 0;

  std::size_t max_gaussians() const { return std::max(max_on_device, std::min(max_with_host, most_on_host)); }
  // Also of a model that is there, although the host has less memory than planned.
  Place harmonics_of(std::size_t gaussians) const {
    return gaussians > max_on_device && max_with_host > max_on_device ? Place::kHost : Place::kDevice;
  }
};

// If the wanted Gaussians fit beside all photos, all photos stay on the device; otherwise photos get at most
// a quarter of the memory.
MemoryPlan plan_memory(const Backend& backend, const MemoryNeeds& needs);

// The device memory at the peak of training, in bytes, without photos that stay there: during a step or, if
// that takes more, during a refinement.
std::size_t training_bytes(const Backend& backend, std::size_t gaussians, const MemoryNeeds& needs);

// An upper estimate of the largest share of a model that a view shows: from the scene's points, if it has
// any.
double visible_share(const Scene& scene, std::span<const std::size_t> views);

// The parameters of one Gaussian, in bytes.
std::size_t parameter_bytes(int sh_degree);

// Both moments of one Gaussian, in bytes.
std::size_t moment_bytes(int sh_degree);

// The harmonics of one Gaussian and their moments, in bytes.
std::size_t harmonics_bytes(int sh_degree);

// The training state of this many Gaussians: parameters, both moments, statistics and the 3D filter.
PlacedBytes train_state_bytes(std::size_t count, int sh_degree, Place harmonics);

// The number of Gaussians of all ranks of this machine whose harmonics the host has memory for, if so many
// bytes are free there (core/host_memory.h), beside so many bytes of photos and what else training needs
// there.
std::size_t most_harmonics_on_host(std::size_t free_bytes, std::size_t photo_bytes, int sh_degree,
                                   std::size_t rank_count);

// A round number about a tenth below `count`, to suggest when `count` Gaussians did not fit.
std::size_t fewer_gaussians(std::size_t count);

// Throws OutOfMemory unless this many bytes can be allocated now. Called before a change of several
// allocations, so that it happens completely or not at all.
void require_room(Backend& backend, PlacedBytes bytes);

}  // namespace stipple
