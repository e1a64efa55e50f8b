// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/shared/gaussian_bindings.h"
#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

void VulkanBackend::project(const DeviceGaussians& gaussians, const Precomputed& precomputed,
                            const View& view, Pass& pass) {
  VulkanPass& mine = own(pass);
  begin_view(mine, view);
  const std::size_t count = gaussians.size();
  pass.projection.splat.resize(*this, count);
  mine.tile_count.resize(*this, count);
  mine.depth_key.resize(*this, count);
  ViewParameters parameters(view);
  for_each_window(count, window_bytes(gaussians), [&](std::size_t first, std::size_t n) {
    parameters.first_gaussian = static_cast<std::uint32_t>(first);
    parameters.count = static_cast<std::uint32_t>(n);
    KernelRun kernel = run("project");
    kernel.constants(form_constants(gaussians, precomputed, view));
    bind_gaussians(gaussians, precomputed, first, n, kernel);
    kernel.window(pass.projection.splat, first, n)
        .window(mine.tile_count, first, n)
        .window(mine.depth_key, first, n)
        .bind(status_of(mine))
        .run(parameters, groups_for(n, kGaussianGroup));
  });
  mine.queries.record(Stage::kProject);
}

}  // namespace stipple::vulkan
