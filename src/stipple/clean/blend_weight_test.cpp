// SPDX-License-Identifier: Apache-2.0
#include "stipple/clean/blend_weight.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "stipple/clean/clean.h"
#include "stipple/edit/select.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"

namespace stipple {
namespace {

class BlendWeightTest : public PerBackendTest {};
INSTANTIATE_TEST_SUITE_P(, BlendWeightTest, testing::ValuesIn(test_backend_names()),
                         [](const auto& name) { return name.param; });

double sum_of(const std::vector<float>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Every pixel is shared between the Gaussians and what shines through.
TEST_P(BlendWeightTest, TheAreasOfAllGaussiansAddUpToTheAlphaOfTheFrame) {
  const Gaussians g = random_cloud(300, 1, 7);
  const View view{looking_down_z(75, 50, 60), {}};
  Rendering run(GetParam(), g, view);
  double alpha = 0;
  for (const float t : run.frame.transmittance.download(*run.backend)) alpha += 1 - static_cast<double>(t);
  const std::vector<float> area =
      blend_weights(*run.backend, view, std::vector<float>(75 * 50, 1.0f), run.pass);
  ASSERT_EQ(area.size(), run.projection.splat.size());
  EXPECT_GT(alpha, 100);
  EXPECT_NEAR(sum_of(area), alpha, 1e-3 * alpha);
}

TEST_P(BlendWeightTest, PixelsCountByTheirValues) {
  const Gaussians g = random_cloud(300, 1, 7);
  const View view{looking_down_z(75, 50, 60), {}};
  Rendering run(GetParam(), g, view);
  const std::vector<float> none =
      blend_weights(*run.backend, view, std::vector<float>(75 * 50, 0.0f), run.pass);
  const std::vector<float> twice =
      blend_weights(*run.backend, view, std::vector<float>(75 * 50, 2.0f), run.pass);
  const std::vector<float> once =
      blend_weights(*run.backend, view, std::vector<float>(75 * 50, 1.0f), run.pass);
  ASSERT_GT(once.size(), 100u);
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(none[i], 0);
    EXPECT_NEAR(twice[i], 2 * once[i], 1e-4f * (1 + once[i]));
  }
}

// Compares with a picture from which the Gaussian is really missing.
TEST_P(BlendWeightTest, TheChangeByARemovalIsThatOfThePictureWithoutTheGaussian) {
  const Gaussians g = random_cloud(40, 1, 9, {.spread = 1, .log_scale = -1.5f, .logit_opacity_sd = 0.5f});
  const View view{looking_down_z(60, 40, 50), {.background = {0.3f, 0.6f, 0.9f}}};
  Rendering run(GetParam(), g, view);
  const std::vector<float> before = run.frame.color.download(*run.backend),
                           planes = random_values(before.size(), 5),
                           changes = by_gaussian(run, removal_changes(*run.backend, view, planes, run.pass));
  for (const std::uint32_t missing : {0u, 11u, 39u}) {
    std::vector<std::uint32_t> rest(g.size());
    std::iota(rest.begin(), rest.end(), 0u);
    std::erase(rest, missing);
    Rendering without(GetParam(), select(g, rest), view);
    const std::vector<float> after = without.frame.color.download(*without.backend);
    double change = 0, size = 0;
    for (std::size_t i = 0; i < after.size(); ++i) {
      change += static_cast<double>(planes[i]) * static_cast<double>(after[i] - before[i]);
      size += std::abs(static_cast<double>(after[i] - before[i]));
    }
    EXPECT_GT(size, 0.1);
    EXPECT_NEAR(changes[missing], change, 0.02 * size)
        << missing;  // other splats may cross the limit of 1/255
  }
}

}  // namespace
}  // namespace stipple
