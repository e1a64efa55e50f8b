// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/shared/gaussian_bindings.h"
#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

namespace {

struct ProjectParameters {
  ViewParameters view;
  std::uint32_t block_count, row_capacity;
};

}  // namespace

void VulkanBackend::project(const DeviceGaussians& gaussians, const Precomputed& precomputed,
                            const View& view, Pass& pass) {
  VulkanPass& mine = own(pass);
  begin_view(mine, view);
  const std::size_t count = gaussians.size(), blocks = visible_block_count(count);
  Projection& projection = pass.projection;
  projection.visible.resize(*this, blocks);
  ProjectParameters parameters{ViewParameters(view), static_cast<std::uint32_t>(blocks), 0};
  // Calls use(kernel, number of Gaussians) for every window.
  const auto for_each_kernel = [&](const char* name, auto use) {
    for_each_window(count, window_bytes(gaussians), [&](std::size_t first, std::size_t n) {
      parameters.view.first_gaussian = static_cast<std::uint32_t>(first);
      parameters.view.count = static_cast<std::uint32_t>(n);
      KernelRun kernel = run(name);
      kernel.constants(form_constants(gaussians, precomputed, view));
      bind_gaussians(gaussians, precomputed, first, n, kernel);
      kernel.bind(projection.visible);
      use(kernel, groups_for(n, kGaussianGroup));
    });
  };
  for_each_kernel("find_visible",
                  [&](KernelRun& kernel, std::size_t groups) { kernel.run(parameters.view, groups); });
  std::size_t rows = 0;
  if (count > 0) {
    scan_rows(mine, projection.visible);
    rows = rows_for(mine, view, projection.visible, count);
  }
  projection.splat.resize(*this, rows);
  mine.tile_count.resize(*this, rows);
  mine.depth_key.resize(*this, rows);
  parameters.row_capacity = static_cast<std::uint32_t>(rows);
  if (rows > 0)
    for_each_kernel("project", [&](KernelRun& kernel, std::size_t groups) {
      kernel.bind(mine.tile_count)
          .bind(mine.depth_key)
          .bind(status_of(mine))
          .split(projection.splat)
          .run(parameters, groups);
    });
  mine.queries.record(Stage::kProject);
}

}  // namespace stipple::vulkan
