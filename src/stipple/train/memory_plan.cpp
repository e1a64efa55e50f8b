// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/memory_plan.h"

#include <algorithm>

#include "stipple/backend/backend.h"
#include "stipple/train/target_cache.h"

namespace stipple {

namespace {

constexpr double kSpareShare = 0.05;   // for the gaps between an allocator's blocks
constexpr std::size_t kPhotoPart = 4;  // photos get at most 1 / kPhotoPart

// The training state at its peak, which is during a refinement: there is a second copy of the largest array,
// and the rows to gather. The guard keeps a copy of the model. A batch of several views also needs a gradient
// sum.
std::size_t state_bytes(std::size_t count, const MemoryNeeds& needs) {
  DeviceGaussians g;
  g.sh_degree = needs.sh_degree;
  const std::size_t refining =
      static_cast<std::size_t>(g.sh_count()) * g.sh.kElementBytes + sizeof(std::uint32_t);
  const std::size_t sum = needs.batch > 1 ? parameter_bytes(needs.sh_degree) + sizeof(Vec2f) : 0;
  const std::size_t best = parameter_bytes(needs.sh_degree) + sizeof(float);
  return train_state_bytes(count, needs.sh_degree) + count * (refining + best + sum);
}

std::size_t bytes_for(const Backend& backend, std::size_t count, const MemoryNeeds& needs) {
  // Photos that do not stay on the device are there during their step.
  const std::size_t photos =
      static_cast<std::size_t>(needs.batch) * target_bytes(needs.largest_view_px, true, true);
  return state_bytes(count, needs) + photos + backend.pass_bytes(count, needs.largest_view_px);
}

// The largest number of Gaussians that fits, by bisection.
std::size_t most_gaussians(const Backend& backend, std::size_t room, const MemoryNeeds& needs) {
  std::size_t fit = 0, too_many = room / parameter_bytes(needs.sh_degree) + 1;
  if (bytes_for(backend, 0, needs) > room) return 0;
  while (too_many - fit > 1) {
    const std::size_t middle = fit + (too_many - fit) / 2;
    (bytes_for(backend, middle, needs) <= room ? fit : too_many) = middle;
  }
  return fit;
}

std::size_t less(std::size_t a, std::size_t b) { return a > b ? a - b : 0; }

}  // namespace

std::size_t parameter_bytes(int sh_degree) {
  DeviceGaussians g;
  g.sh_degree = sh_degree;
  std::size_t bytes = 0;
  for_each_parameter(
      [&](int per_gaussian, const auto& array) {
        bytes += static_cast<std::size_t>(per_gaussian) * array.kElementBytes;
      },
      g);
  return bytes;
}

std::size_t train_state_bytes(std::size_t count, int sh_degree) {
  return count * (3 * parameter_bytes(sh_degree) + sizeof(Vec2f) + sizeof(float));
}

std::size_t fewer_gaussians(std::size_t count) {
  const std::size_t fewer = count - count / 10;
  std::size_t unit = 1;
  while (fewer / unit >= 100) unit *= 10;
  return fewer / unit * unit;
}

void require_room(Backend& backend, std::size_t bytes) {
  if (backend.own_memory_bytes() > 0) backend.allocate(bytes);
}

MemoryNeeds memory_needs(const Scene& scene, std::span<const std::size_t> views) {
  MemoryNeeds needs;
  for (const std::size_t v : views) {
    const SceneView& view = scene.views[v];
    const std::size_t pixels = static_cast<std::size_t>(view.camera.width_px) * view.camera.height_px;
    needs.photo_bytes += target_bytes(pixels, !view.mask_path.empty() || !view.lens.is_pinhole(),
                                      view.alpha == AlphaUse::kObject);
    needs.largest_view_px = std::max(needs.largest_view_px, pixels);
  }
  return needs;
}

MemoryPlan plan_memory(const Backend& backend, const MemoryNeeds& needs) {
  const std::size_t own_bytes = backend.own_memory_bytes();
  const auto spare = static_cast<std::size_t>(static_cast<double>(own_bytes) * kSpareShare);
  const std::size_t room = own_bytes - spare, image_bytes = backend.pass_bytes(0, needs.largest_view_px);
  const bool all_fit = needs.wanted_gaussians > 0 &&
                       needs.photo_bytes + bytes_for(backend, needs.wanted_gaussians, needs) <= room;
  MemoryPlan plan;
  plan.photo_bytes =
      all_fit ? needs.photo_bytes : std::min(needs.photo_bytes, less(room, image_bytes) / kPhotoPart);
  plan.max_gaussians = most_gaussians(backend, less(room, plan.photo_bytes), needs);
  return plan;
}

}  // namespace stipple
