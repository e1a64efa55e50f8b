// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

void VulkanBackend::perturb(TrainState& state, float amount, std::uint64_t seed, Pass& pass) {
  DeviceGaussians& g = state.gaussians;
  VulkanPass& mine = own(pass);
  struct {
    std::uint32_t first, count;
    float amount;
    std::uint32_t seed_low, seed_high, view_count;
  } parameters{0,
               0,
               amount,
               static_cast<std::uint32_t>(seed),
               static_cast<std::uint32_t>(seed >> 32),
               static_cast<std::uint32_t>(mine.view_ids.size())};
  for_each_window(g.size(), sizeof(Vec4f), [&](std::size_t first, std::size_t n) {
    parameters.first = static_cast<std::uint32_t>(state.part.first + first);
    parameters.count = static_cast<std::uint32_t>(n);
    run("perturb")
        .window(g.mean, first, n)
        .window(g.log_scale, first, n)
        .window(g.rotation, first, n)
        .window(g.logit_opacity, first, n)
        .bind(mine.status)
        .run(parameters, groups_for(n, 256));
  });
  mine.queries.record(Stage::kOptimize);
}

}  // namespace stipple::vulkan
