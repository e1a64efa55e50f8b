// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/render_settings.h"
#include "stipple/backend/vulkan/shared/adam_parameters.h"
#include "stipple/backend/vulkan/shared/gaussian_bindings.h"
#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

namespace {

struct FusedParameters {
  ViewParameters view;
  Vec2f half_size;
  std::uint32_t lifts_clamped, has_statistics, has_absolute, visible_only;
  float mean_rate, scale_rate, rotation_rate, opacity_rate, sh_rate, sh_rest_rate, scale_penalty,
      opacity_penalty;
  AdamParameters adam;
};

FusedParameters fused_parameters(const View& view, const WantedGradients& wanted, const AdamOptions& options,
                                 const LossOptions& loss, std::size_t gaussians) {
  const ParameterRules rules = parameter_rules(options, loss, gaussians, 1);
  return {ViewParameters(view),
          half_size_of(view.camera),
          wanted.lifts_clamped_colors,
          wanted.view_statistics,
          wanted.absolute_mean,
          options.visible_only,
          rules.mean.rate,
          rules.log_scale.rate,
          rules.rotation.rate,
          rules.logit_opacity.rate,
          rules.sh.rate,
          rules.sh.rest_rate,
          rules.log_scale.penalty_weight,
          rules.logit_opacity.penalty_weight,
          AdamParameters(options)};
}

}  // namespace

void VulkanBackend::project_backward_optimize(TrainState& state, const View& view,
                                              const WantedGradients& wanted, const AdamOptions& options,
                                              const LossOptions& loss, Pass& pass) {
  // The camera's gradient is rarely wanted: it is left to the separate stages.
  if (wanted.camera) return Backend::project_backward_optimize(state, view, wanted, options, loss, pass);
  VulkanPass& mine = own(pass);
  DeviceGaussians& g = state.gaussians;
  const std::size_t count = g.size();
  if (count == 0) return;
  FusedParameters parameters = fused_parameters(view, wanted, options, loss, count);
  parameters.has_statistics = wanted.view_statistics && !state.statistics.empty();
  const bool from_sums = mine.sums_are_pending;
  parameters.has_absolute = from_sums ? mine.sums_have_absolute : !pass.dL_dsplat.absolute_mean_px.empty();
  for_each_window(count, window_bytes(g), [&](std::size_t first, std::size_t n) {
    parameters.view.first_gaussian = static_cast<std::uint32_t>(first);
    parameters.view.count = static_cast<std::uint32_t>(n);
    KernelRun kernel = run("project_backward_optimize");
    kernel.constants(form_constants(g, state.precomputed, view)).constants({from_sums});
    bind_gaussians(g, state.precomputed, first, n, kernel);
    bind_parameters(state.moments.first, first, n, kernel);
    bind_parameters(state.moments.second, first, n, kernel);
    kernel.window(pass.projection.splat, first, n);
    if (from_sums)
      kernel.window(mine.sums, first * kSumFields, n * kSumFields).bind(Binding{}).bind(Binding{});
    else
      kernel.bind(Binding{})
          .window(pass.dL_dsplat.splat, first, n)
          .window(pass.dL_dsplat.absolute_mean_px, first, n);
    kernel.window(state.statistics, first, n)
        .bind(status_of(mine))
        .run(parameters, groups_for(n, kGaussianGroup));
  });
  mine.sums_are_pending = false;
  mine.queries.record(Stage::kOptimize);
}

}  // namespace stipple::vulkan
