// SPDX-License-Identifier: Apache-2.0
// The loss of every backend against a direct computation in double: its value, and its gradient by finite
// differences.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "stipple/backend/backend.h"
#include "stipple/core/random.h"
#include "tests/helpers/backend_run.h"

namespace stipple {
namespace {

using M = Math<double>;

constexpr Vec3f kBackground{0.25f, 0.5f, 1};

struct LossCase {
  int width, height;
  bool weighted, cut_out = false;
};

struct Inputs {
  int width, height;
  std::vector<double> color;         // planar
  std::vector<std::uint8_t> target;  // interleaved
  std::vector<float> weight;         // may be empty
  std::vector<std::uint8_t> alpha;   // likewise

  double y(int c, int px) const {
    const double over_black = target[3 * px + c] / 255.0;
    return alpha.empty() ? over_black : over_black + (1 - alpha[px] / 255.0) * kBackground[c];
  }
  double x(int c, int px) const {
    double value = color[static_cast<std::size_t>(c) * width * height + px];
    return weight.empty() ? value : y(c, px) + weight[px] * (value - y(c, px));
  }
};

Inputs random_inputs(const LossCase& c) {
  Random random(static_cast<std::uint64_t>(c.width * 1000 + c.height));
  Inputs in{c.width, c.height, {}, {}, {}, {}};
  int n = c.width * c.height;
  for (int i = 0; i < 3 * n; ++i) {
    in.color.push_back(random.uniform(-0.1f, 1.1f));
    in.target.push_back(static_cast<std::uint8_t>(random.below(256)));
  }
  if (c.weighted)
    for (int i = 0; i < n; ++i) in.weight.push_back(i % 3 == 0 ? 0.0f : random.uniform());
  if (c.cut_out)  // a colour that is multiplied by its alpha does not exceed it
    for (int i = 0; i < n; ++i) {
      in.alpha.push_back(static_cast<std::uint8_t>(i % 3 == 0 ? 0 : i % 3 == 1 ? 255 : random.below(256)));
      for (int k = 0; k < 3; ++k) in.target[3 * i + k] = std::min(in.target[3 * i + k], in.alpha[i]);
    }
  return in;
}

double ssim_at(const Inputs& in, int c, int px, int py) {
  M::WindowMeans m{0, 0, 0, 0, 0};
  for (int dy = -5; dy <= 5; ++dy)
    for (int dx = -5; dx <= 5; ++dx) {
      int i = px + dx, j = py + dy;
      if (i < 0 || j < 0 || i >= in.width || j >= in.height) continue;
      double weight = M::ssim_window_weight(dx) * M::ssim_window_weight(dy);
      double x = in.x(c, j * in.width + i), y = in.y(c, j * in.width + i);
      m.x += weight * x, m.y += weight * y;
      m.xx += weight * x * x, m.yy += weight * y * y, m.xy += weight * x * y;
    }
  return M::ssim(m);
}

double direct_loss(const Inputs& in, double ssim_weight) {
  double l1 = 0, ssim = 0, count = 3.0 * in.width * in.height;
  for (int c = 0; c < 3; ++c)
    for (int py = 0; py < in.height; ++py)
      for (int px = 0; px < in.width; ++px) {
        int at = py * in.width + px;
        l1 += std::abs(in.x(c, at) - in.y(c, at));
        ssim += ssim_at(in, c, px, py);
      }
  return (1 - ssim_weight) * l1 / count + ssim_weight * (1 - ssim / count);
}

class Loss : public testing::TestWithParam<std::tuple<std::string, LossCase>> {
  void SetUp() override { STIPPLE_SKIP_UNUSABLE(std::get<0>(GetParam())); }
};

TEST_P(Loss, ValueAndGradientMatchDirectComputation) {
  auto [name, c] = GetParam();
  Inputs in = random_inputs(c);
  auto backend = make_test_backend(name);
  Pass pass;
  Frame& frame = pass.frame;
  frame.width_px = c.width;
  frame.height_px = c.height;
  frame.color.upload(*backend, std::vector<float>(in.color.begin(), in.color.end()));
  frame.transmittance.resize_zero(*backend, static_cast<std::size_t>(c.width) * c.height);
  LossTarget target;
  target.color.upload(*backend, in.target);
  if (c.weighted) target.weight.upload(*backend, in.weight);
  if (c.cut_out) target.alpha.upload(*backend, in.alpha);
  View view;
  view.options.background = kBackground;
  backend->loss(view, target, {.l1_weight = 0.8f, .ssim_weight = 0.2f}, pass);
  const float loss = backend->read(pass).views[0].loss.total;
  EXPECT_NEAR(loss, direct_loss(in, 0.2), 1e-6);

  std::vector<float> gradient = pass.dL_dframe.color.download(*backend);
  ASSERT_EQ(gradient.size(), in.color.size());
  std::size_t stride = gradient.size() / 25 + 1;
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < gradient.size(); i += stride) {
    double center = in.color[i], h = 1e-6;
    in.color[i] = center + h;
    double above = direct_loss(in, 0.2);
    in.color[i] = center - h;
    double slope = (above - direct_loss(in, 0.2)) / (2 * h);
    in.color[i] = center;
    error += (slope - gradient[i]) * (slope - gradient[i]);
    norm += slope * slope;
  }
  EXPECT_LE(std::sqrt(error), 1e-4 * std::sqrt(norm));
  EXPECT_GT(norm, 0);
}

std::string case_name(const testing::TestParamInfo<Loss::ParamType>& test) {
  const auto& [name, c] = test.param;
  return fmt::format("{}_{}x{}{}{}", name, c.width, c.height, c.weighted ? "_weighted" : "",
                     c.cut_out ? "_cut_out" : "");
}

INSTANTIATE_TEST_SUITE_P(
    , Loss,
    testing::Combine(testing::ValuesIn(test_backend_names()),
                     testing::Values(LossCase{1, 1, false}, LossCase{5, 3, false}, LossCase{17, 1, false},
                                     LossCase{16, 16, true}, LossCase{33, 29, false}, LossCase{33, 29, true},
                                     LossCase{12, 131, false}, LossCase{1, 1, false, true},
                                     LossCase{33, 29, false, true}, LossCase{33, 29, true, true},
                                     LossCase{12, 131, false, true})),
    case_name);

}  // namespace
}  // namespace stipple
