// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "stipple/backend/vulkan/shared/adam_parameters.h"
#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

namespace {

struct OptimizeParameters {
  AdamParameters adam;
  std::uint32_t count, per_gaussian, base_floats;
  float base_rate, rest_rate, penalty_weight;
  std::uint32_t visible_only, view_count;
};

}  // namespace

void VulkanBackend::optimize(TrainState& state, const GradientSum& sum, const AdamOptions& options,
                             const LossOptions& loss, Pass& pass) {
  check_update(sum, options);
  VulkanPass& mine = own(pass);
  const std::size_t gaussians = state.gaussians.size();
  if (gaussians == 0) return;
  const auto view_count = static_cast<std::uint32_t>(mine.view_ids.size());
  ParameterRules rules =
      parameter_rules(options, loss, gaussians, std::max(static_cast<int>(mine.view_ids.size()), 1));
  for_each_parameter(
      [&](int elements, auto& value, auto& first_moment, auto& second_moment, const auto& gradient,
          const ParameterRule& rule) {
        const std::size_t each = static_cast<std::size_t>(elements),
                          floats = value.kElementBytes / sizeof(float);
        OptimizeParameters parameters{AdamParameters(options),
                                      0,
                                      static_cast<std::uint32_t>(each * floats),
                                      static_cast<std::uint32_t>(floats),
                                      rule.rate,
                                      rule.rest_rate,
                                      rule.penalty_weight,
                                      options.visible_only,
                                      view_count};
        for_each_window(gaussians, std::max(each * value.kElementBytes, sizeof(Vec2f)),
                        [&](std::size_t first, std::size_t n) {
                          parameters.count = static_cast<std::uint32_t>(n * each * floats);
                          run("optimize")
                              .constants({static_cast<std::uint32_t>(rule.penalty)})
                              .window(value, first * each, n * each)
                              .window(first_moment, first * each, n * each)
                              .window(second_moment, first * each, n * each)
                              .window(gradient, first * each, n * each)
                              .window(sum.view_statistics, first, n)
                              .bind(mine.status)
                              .run(parameters, groups_for(parameters.count, 256));
                        });
      },
      state.gaussians, state.moments.first, state.moments.second, sum.gaussians, rules);
  if (!sum.view_statistics.empty() && !state.statistics.empty())
    for_each_window(gaussians, sizeof(Vec2f), [&](std::size_t first, std::size_t n) {
      const struct { std::uint32_t count, view_count; } parameters{static_cast<std::uint32_t>(n), view_count};
      run("add_statistics")
          .window(sum.view_statistics, first, n)
          .window(state.statistics, first, n)
          .bind(mine.status)
          .run(parameters, groups_for(n, 256));
    });
  mine.queries.record(Stage::kOptimize);
}

}  // namespace stipple::vulkan
