// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/render_settings.h"
#include "stipple/backend/vulkan/shared/adam_parameters.h"
#include "stipple/backend/vulkan/shared/gaussian_bindings.h"
#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

namespace {

struct MomentKeyParameters {
  std::uint32_t mean, log_scale, rotation, logit_opacity, sh_base, sh_rest;
};

// Those of the Gaussians from `first` on.
MomentKeyParameters key_parameters(const AdamOptions& options, const TrainState& state, std::size_t first) {
  const MomentKeys k = moment_keys(options.step, {state.part.first + first, 0}, state.gaussians.sh_degree);
  return {k.mean, k.log_scale, k.rotation, k.logit_opacity, k.sh_base, k.sh_rest};
}

struct FusedParameters {
  ViewParameters view;
  Vec2f half_size;
  std::uint32_t lifts_clamped, has_statistics, has_absolute, visible_only, harmonics_of_visible_only,
      block_count, row_capacity;
  float mean_rate, scale_rate, rotation_rate, opacity_rate, sh_rate, sh_rest_rate, scale_penalty,
      opacity_penalty;
  MomentKeyParameters keys;
  AdamParameters adam;
};

FusedParameters fused_parameters(const View& view, const WantedGradients& wanted, const AdamOptions& options,
                                 const LossOptions& loss, std::size_t size_of_model) {
  const ParameterRules rules = parameter_rules(options, loss, size_of_model, 1);
  return {ViewParameters(view),
          half_size_of(view.camera),
          wanted.lifts_clamped_colors,
          wanted.view_statistics,
          wanted.absolute_mean,
          options.visible_only,
          options.harmonics_of_visible_only(),
          0,
          0,
          rules.mean.rate,
          rules.log_scale.rate,
          rules.rotation.rate,
          rules.logit_opacity.rate,
          rules.sh.rate,
          rules.sh.rest_rate,
          rules.log_scale.penalty_weight,
          rules.logit_opacity.penalty_weight,
          {},
          AdamParameters(options)};
}

}  // namespace

void VulkanBackend::project_backward_optimize(TrainState& state, const View& view,
                                              const WantedGradients& wanted, const AdamOptions& options,
                                              const LossOptions& loss, Pass& pass) {
  VulkanPass& mine = own(pass);
  const Projection& projection = pass.projection;
  // The kernel has no bindings to spare for the pieces of splats that do not fit into one, and the camera's
  // gradient is rarely wanted: both are left to the separate stages.
  const std::size_t rows = projection.splat.size();
  const bool fits = rows * sizeof(ProjectedSplat) <= context_->abilities().split_bytes;
  if (wanted.camera || !fits)
    return Backend::project_backward_optimize(state, view, wanted, options, loss, pass);
  DeviceGaussians& g = state.gaussians;
  const std::size_t count = g.size();
  if (count == 0) return;
  FusedParameters parameters = fused_parameters(view, wanted, options, loss, state.size_of_model());
  parameters.has_statistics = wanted.view_statistics && !state.statistics.empty();
  parameters.block_count = static_cast<std::uint32_t>(projection.visible.size());
  parameters.row_capacity = static_cast<std::uint32_t>(rows);
  const bool from_sums = mine.sums_are_pending;
  parameters.has_absolute = from_sums ? mine.sums_have_absolute : !pass.dL_dsplat.absolute_mean_px.empty();
  for_each_window(count, window_bytes(g), [&](std::size_t first, std::size_t n) {
    parameters.view.first_gaussian = static_cast<std::uint32_t>(first);
    parameters.view.count = static_cast<std::uint32_t>(n);
    parameters.keys = key_parameters(options, state, first);
    KernelRun kernel = run("project_backward_optimize");
    kernel.constants(form_constants(g, state.precomputed, view)).constants({from_sums});
    bind_gaussians(g, state.precomputed, first, n, kernel);
    bind_moments(state.moments, first, n, kernel);
    kernel.bind(projection.splat);
    if (from_sums)
      kernel.window(mine.sums, 0, rows * kSumFields).bind(Binding{}).bind(Binding{});
    else
      kernel.bind(Binding{}).bind(pass.dL_dsplat.splat).bind(pass.dL_dsplat.absolute_mean_px);
    kernel.window(state.statistics, first, n)
        .bind(status_of(mine))
        .bind(projection.visible)
        .run(parameters, groups_for(n, kGaussianGroup));
  });
  mine.sums_are_pending = false;
  mine.queries.record(Stage::kOptimize);
}

}  // namespace stipple::vulkan
