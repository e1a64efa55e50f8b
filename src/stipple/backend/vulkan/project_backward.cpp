// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "stipple/backend/render_settings.h"
#include "stipple/backend/vulkan/shared/gaussian_bindings.h"
#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

namespace {

struct BackwardParameters {
  ViewParameters view;
  Vec2f half_size;
  std::uint32_t lifts_clamped, adds, has_statistics, has_absolute, first_camera_sum, block_count,
      row_capacity;
};

}  // namespace

void VulkanBackend::project_backward(const DeviceGaussians& gaussians, const Precomputed& precomputed,
                                     const View& view, const WantedGradients& wanted, Pass& pass,
                                     GradientSum& sum) {
  VulkanPass& mine = own(pass);
  write_pending_gradients(pass);
  resize_sum(*this, gaussians, precomputed, wanted, sum);
  const std::size_t count = gaussians.size();
  const bool adds = !std::exchange(sum.is_empty, false);
  if (count == 0) return;
  const std::size_t camera_sums = wanted.camera ? groups_for(count, kGaussianGroup) : 0;
  mine.camera_sums.resize(*this, camera_sums * kCameraFields);
  BackwardParameters parameters{ViewParameters(view),
                                half_size_of(view.camera),
                                wanted.lifts_clamped_colors,
                                adds,
                                !sum.view_statistics.empty(),
                                !pass.dL_dsplat.absolute_mean_px.empty(),
                                0,
                                static_cast<std::uint32_t>(pass.projection.visible.size()),
                                static_cast<std::uint32_t>(pass.projection.splat.size())};
  for_each_window(count, window_bytes(gaussians), [&](std::size_t first, std::size_t n) {
    parameters.view.first_gaussian = static_cast<std::uint32_t>(first);
    parameters.view.count = static_cast<std::uint32_t>(n);
    parameters.first_camera_sum = static_cast<std::uint32_t>(first / kGaussianGroup);
    KernelRun kernel = run("project_backward");
    kernel.constants(form_constants(gaussians, precomputed, view)).constants({wanted.camera});
    bind_gaussians(gaussians, precomputed, first, n, kernel);
    kernel.bind(pass.projection.visible)
        .split(pass.projection.splat)
        .split(pass.dL_dsplat.splat)
        .bind(pass.dL_dsplat.absolute_mean_px);
    bind_parameters(sum.gaussians, first, n, kernel);
    kernel.window(sum.precomputed.color, first, n)
        .window(sum.precomputed.covariance, first, n)
        .window(sum.view_statistics, first, n)
        .bind(mine.camera_sums)
        .run(parameters, groups_for(n, kGaussianGroup));
  });
  if (wanted.camera) {
    const struct { std::uint32_t count; } last{static_cast<std::uint32_t>(camera_sums)};
    run("camera_gradient").bind(mine.camera_sums).bind(status_of(mine)).run(last, 1);
  }
  mine.queries.record(Stage::kOptimize);
}

}  // namespace stipple::vulkan
