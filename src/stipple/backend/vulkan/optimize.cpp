// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "stipple/backend/vulkan/shared/adam_parameters.h"
#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

namespace {

struct Columns {  // see optimize.comp
  std::uint32_t row, column, width;
};

struct OptimizeParameters {
  AdamParameters adam;
  std::uint32_t count;
  Columns columns;
  float rate, penalty_weight;
  std::uint32_t key, visible_only, view_count;
};

}  // namespace

void VulkanBackend::optimize(TrainState& state, const GradientSum& sum, const AdamOptions& options,
                             const LossOptions& loss, Pass& pass) {
  check_update(sum, options);
  VulkanPass& mine = own(pass);
  const std::size_t gaussians = state.gaussians.size();
  if (gaussians == 0) return;
  const auto view_count = static_cast<std::uint32_t>(mine.view_ids.size());
  const ParameterRules rules = parameter_rules(options, loss, state.size_of_model(),
                                               std::max(static_cast<int>(mine.view_ids.size()), 1));
  const MomentKeys keys = moment_keys(options.step, state.part, state.gaussians.sh_degree);
  const auto update = [&]<class T, class Word>(DeviceArray<T>& value, const DeviceArray<T>& gradient,
                                               DeviceArray<Word>& moments, std::uint32_t key, Columns columns,
                                               float rate, const ParameterRule& rule, bool visible_only) {
    constexpr bool kNarrow = sizeof(Word) < sizeof(std::uint32_t);
    const std::size_t elements = columns.row * sizeof(float) / sizeof(T), width = columns.width;
    OptimizeParameters parameters{AdamParameters(options), 0, columns,      rate,
                                  rule.penalty_weight,     0, visible_only, view_count};
    for_each_window(
        gaussians, std::max(elements * sizeof(T), sizeof(Vec2f)), [&](std::size_t first, std::size_t n) {
          parameters.count = static_cast<std::uint32_t>(n * width);
          parameters.key = Math<float>::rounding_bits(key, static_cast<std::uint32_t>(first * width));
          run("optimize")
              .constants({static_cast<std::uint32_t>(rule.penalty), kNarrow})
              .window(value, first * elements, n * elements)
              .window(moments, first * width, n * width)
              .window(gradient, first * elements, n * elements)
              .window(sum.view_statistics, first, n)
              .bind(mine.status)
              .run(parameters, groups_for(parameters.count, kNarrow ? 512 : 256));
        });
  };
  DeviceGaussians& g = state.gaussians;
  const DeviceGaussians& d = sum.gaussians;
  AdamMoments& m = state.moments;
  const auto rest = static_cast<std::uint32_t>(m.sh_rest_count());
  const auto update_whole = [&](auto& value, const auto& gradient, auto& moments, std::uint32_t key,
                                std::uint32_t row, const ParameterRule& rule) {
    update(value, gradient, moments, key, {row, 0, row}, rule.rate, rule, options.visible_only);
  };
  const auto update_harmonics = [&](auto& moments, std::uint32_t key, Columns columns, float rate) {
    update(g.sh, d.sh, moments, key, columns, rate, rules.sh, options.harmonics_of_visible_only());
  };
  update_whole(g.mean, d.mean, m.mean, keys.mean, 3, rules.mean);
  update_whole(g.log_scale, d.log_scale, m.log_scale, keys.log_scale, 3, rules.log_scale);
  update_whole(g.rotation, d.rotation, m.rotation, keys.rotation, 4, rules.rotation);
  update_whole(g.logit_opacity, d.logit_opacity, m.logit_opacity, keys.logit_opacity, 1, rules.logit_opacity);
  update_harmonics(m.sh_base, keys.sh_base, {3 + rest, 0, 3}, rules.sh.rate);
  if (rest > 0) update_harmonics(m.sh_rest, keys.sh_rest, {3 + rest, 3, rest}, rules.sh.rest_rate);
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
