// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/shared/gaussian_bindings.h"
#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

void VulkanBackend::receive(const View& view, const DeviceArray<ProjectedSplat>& splats, Pass& pass) {
  VulkanPass& mine = own(pass);
  begin_view(mine, view);
  pass.projection.splat = splats.copy(*this);
  pass.projection.visible.resize(*this, 0);
  mine.tile_count.resize(*this, splats.size());
  mine.depth_key.resize(*this, splats.size());
  ViewParameters parameters(view);
  for_each_window(splats.size(), sizeof(ProjectedSplat), [&](std::size_t first, std::size_t n) {
    parameters.count = static_cast<std::uint32_t>(n);
    run("receive")
        .window(pass.projection.splat, first, n)
        .window(mine.tile_count, first, n)
        .window(mine.depth_key, first, n)
        .bind(status_of(mine))
        .run(parameters, groups_for(n, kGaussianGroup));
  });
  mine.queries.record(Stage::kExchange);
}

}  // namespace stipple::vulkan
