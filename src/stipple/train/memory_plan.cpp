// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/memory_plan.h"

#include <algorithm>

#include "stipple/backend/backend.h"
#include "stipple/train/target_cache.h"

namespace stipple {

namespace {

constexpr double kSpareShare = 0.05;  // for what an allocator loses between blocks
constexpr std::size_t kPhotoPart = 4;

// A picture, its gradient, the loss's sums and states of pixels on their way through long tiles.
constexpr std::size_t kBytesPerPixel = 100;

// Pairs of a Gaussian and a tile, some five a Gaussian, with their keys and the room to sort them.
constexpr std::size_t kBinningBytes = 120;

std::size_t bytes_per_gaussian(int sh_degree) {
  DeviceGaussians g;
  g.sh_degree = sh_degree;
  const std::size_t step = sizeof(ProjectedSplat) + sizeof(Splat) + sizeof(Vec2f) + kBinningBytes;
  // While Gaussians are refined the largest array is there twice, and the rows to gather besides.
  const std::size_t refining =
      static_cast<std::size_t>(g.sh_count()) * g.sh.kElementBytes + sizeof(std::uint32_t);
  return train_state_bytes(1, sh_degree) + step + refining;
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
  return count * (3 * parameter_bytes(sh_degree) + sizeof(Vec2f));
}

std::size_t fewer_gaussians(std::size_t count) {
  const std::size_t fewer = count - count / 10;
  std::size_t unit = 1;
  while (fewer / unit >= 100) unit *= 10;
  return fewer / unit * unit;
}

MemoryNeeds memory_needs(const Scene& scene, std::span<const std::size_t> views) {
  MemoryNeeds needs;
  for (const std::size_t v : views) {
    const SceneView& view = scene.views[v];
    const std::size_t pixels = static_cast<std::size_t>(view.camera.width_px) * view.camera.height_px;
    needs.photo_bytes += target_bytes(pixels, !view.mask_path.empty() || !view.lens.is_pinhole());
    needs.largest_view_px = std::max(needs.largest_view_px, pixels);
  }
  return needs;
}

MemoryPlan plan_memory(std::size_t own_bytes, const MemoryNeeds& needs) {
  const auto spare = static_cast<std::size_t>(static_cast<double>(own_bytes) * kSpareShare);
  const std::size_t room = less(own_bytes - spare, needs.largest_view_px * kBytesPerPixel);
  const std::size_t each = bytes_per_gaussian(needs.sh_degree);
  const bool all_fit =
      needs.wanted_gaussians > 0 && needs.photo_bytes + needs.wanted_gaussians * each <= room;
  MemoryPlan plan;
  plan.photo_bytes = all_fit ? needs.photo_bytes : std::min(needs.photo_bytes, room / kPhotoPart);
  plan.max_gaussians = less(room, plan.photo_bytes) / each;
  return plan;
}

}  // namespace stipple
