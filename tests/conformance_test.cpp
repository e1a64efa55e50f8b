// SPDX-License-Identifier: Apache-2.0
// Every stage of every backend against the reference renderer in double, on every scene.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/backend_run.h"
#include "tests/conformance_scenes.h"

namespace stipple {
namespace {

class Conformance : public testing::TestWithParam<std::tuple<std::string, int>> {
 protected:
  void SetUp() override { STIPPLE_SKIP_UNUSABLE(backend()); }
  static const std::vector<ConformanceScene>& scenes() {
    static const std::vector<ConformanceScene> all = conformance_scenes();
    return all;
  }
  std::string backend() const { return std::get<0>(GetParam()); }
  const ConformanceScene& scene() const { return scenes()[std::get<1>(GetParam())]; }
};

// Every Gaussian's splat; a Gaussian at the very edge of being drawn may differ in that.
TEST_P(Conformance, Project) {
  const auto& [name, gaussians, view] = scene();
  Rendering run(backend(), gaussians, view);
  auto ours = run.projection.splat.download(*run.backend);
  auto expected = reference_project(to_reference(gaussians, view));
  std::size_t differ = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const Splat& s = ours[i].splat;
    const auto& e = expected[i];
    if ((s.opacity > 0) != (e.footprint.opacity > 0)) {
      ++differ;
      continue;
    }
    if (s.opacity == 0) continue;
    auto expect_near = [&](double value, double reference, double scale, const char* what) {
      EXPECT_NEAR(value, reference, 1e-4 * scale) << what << " of Gaussian " << i;
    };
    double size = e.footprint.half_extent_px.x + e.footprint.half_extent_px.y + 1;
    expect_near(s.mean_px.x, e.splat.mean_px.x, size, "x");
    expect_near(s.mean_px.y, e.splat.mean_px.y, size, "y");
    double conic = e.splat.conic.x + e.splat.conic.z;
    // A needle's conic is all cancellation.
    double aspect = conic * conic / (e.splat.conic.x * e.splat.conic.z - e.splat.conic.y * e.splat.conic.y);
    expect_near(s.conic.x, e.splat.conic.x, conic * (1 + 0.01 * aspect), "conic.x");
    expect_near(s.conic.y, e.splat.conic.y, conic * (1 + 0.01 * aspect), "conic.y");
    expect_near(s.conic.z, e.splat.conic.z, conic * (1 + 0.01 * aspect), "conic.z");
    expect_near(s.opacity, e.splat.opacity, 1, "opacity");
    expect_near(s.channels.x, e.splat.channels.x, 1, "red");
    expect_near(s.channels.y, e.splat.channels.y, 1, "green");
    expect_near(s.channels.z, e.splat.channels.z, 1, "blue");
    expect_near(ours[i].depth, e.footprint.depth, e.footprint.depth, "depth");
    expect_near(ours[i].half_extent_px.x, e.footprint.half_extent_px.x, size, "reach");
  }
  EXPECT_LE(static_cast<double>(differ), 1e-3 * static_cast<double>(ours.size()));
}

// Tiles list what is drawn in them, nearest first.
TEST_P(Conformance, Bin) {
  const auto& [name, gaussians, view] = scene();
  Rendering run(backend(), gaussians, view);
  auto splats = run.projection.splat.download(*run.backend);
  auto slots = run.bins.gaussian_from_slot.download(*run.backend);
  auto slot_begin = run.bins.slot_begin_from_tile.download(*run.backend);
  int columns = (view.camera.width_px + 15) / 16, rows = (view.camera.height_px + 15) / 16;
  ASSERT_EQ(slot_begin.size(), static_cast<std::size_t>(columns * rows + 1));
  EXPECT_EQ(slot_begin.back(), slots.size());
  std::vector<std::vector<char>> is_listed(static_cast<std::size_t>(columns * rows));
  for (int tile = 0; tile < columns * rows; ++tile) {
    if (splats.size() <= 1000) is_listed[tile].assign(splats.size(), 0);
    for (std::uint32_t k = slot_begin[tile]; k < slot_begin[tile + 1]; ++k) {
      const std::uint32_t gaussian = slots[k];
      ASSERT_LT(gaussian, splats.size());
      if (!is_listed[tile].empty()) is_listed[tile][gaussian] = 1;
      if (k == slot_begin[tile]) continue;
      const std::uint32_t before = slots[k - 1];
      float z = splats[gaussian].depth, z_before = splats[before].depth;
      ASSERT_TRUE(z_before < z || (z_before == z && before < gaussian)) << "tile " << tile;
    }
  }
  if (splats.size() > 1000) return;  // what follows visits every pixel for every Gaussian
  for (int y = 0; y < view.camera.height_px; ++y)
    for (int x = 0; x < view.camera.width_px; ++x)
      for (std::size_t i = 0; i < splats.size(); ++i) {
        Vec2f pixel(static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f);
        bool drawn = splats[i].splat.opacity > 0 &&
                     Math<float>::alpha_at(splats[i].splat, pixel, view.options.alpha_max) > 0;
        ASSERT_TRUE(!drawn || is_listed[y / 16 * columns + x / 16][i])
            << "Gaussian " << i << " at " << x << ", " << y;
      }
}

// Float and double may disagree on which side of a threshold (1/255, alpha_max, the early stop, the order of
// two nearly equal depths) a contribution falls; that changes a pixel by up to about 1/255. Such pixels must
// be rare.
constexpr double kThresholdShare = 2e-3;

TEST_P(Conformance, Image) {
  const auto& [name, gaussians, view] = scene();
  Rendering run(backend(), gaussians, view);
  Picture expected = reference_render(to_reference(gaussians, view));
  auto color = run.frame.color.download(*run.backend);
  auto transmittance = run.frame.transmittance.download(*run.backend);
  auto depth = run.frame.depth.download(*run.backend);
  std::size_t n = expected.alpha.size(), outliers = 0;
  ASSERT_EQ(color.size(), 3 * n);
  for (std::size_t i = 0; i < n; ++i) {
    Vec4<double> e = expected.channels[i];
    double error =
        std::max({std::abs(color[i] - e.x), std::abs(color[n + i] - e.y), std::abs(color[2 * n + i] - e.z),
                  std::abs(1 - transmittance[i] - expected.alpha[i])});
    if (!depth.empty()) error = std::max(error, std::abs(depth[i] - e.w) / 5);  // depths are about 5
    ASSERT_LE(error, 0.05) << "pixel " << i;
    outliers += error > 1e-4;
  }
  EXPECT_LE(static_cast<double>(outliers), kThresholdShare * static_cast<double>(n) + (n < 500 ? 0.5 : 0));
}

double norm_of_difference(const float* a, const double* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

template <class T, class U>
void expect_close(const std::vector<T>& ours, const std::vector<U>& expected, const char* name,
                  double tolerance) {
  ASSERT_EQ(ours.size(), expected.size()) << name;
  std::size_t n = ours.size() * sizeof(T) / sizeof(float);
  std::vector<float> zeros(n, 0.0f);
  const double* b = reinterpret_cast<const double*>(expected.data());
  double norm = norm_of_difference(zeros.data(), b, n);
  EXPECT_LE(norm_of_difference(reinterpret_cast<const float*>(ours.data()), b, n), tolerance * norm + 1e-12)
      << name;
}

TEST_P(Conformance, Gradients) {
  const auto& [name, gaussians, view] = scene();
  Rendering run(backend(), gaussians, view);
  std::size_t n = static_cast<std::size_t>(view.camera.width_px) * view.camera.height_px;
  // A smooth random gradient of every output.
  Random random(99);
  std::vector<float> dL_dcolor(3 * n), dL_dalpha(n), dL_ddepth(n);
  for (auto* plane : {&dL_dcolor, &dL_dalpha, &dL_ddepth})
    for (float& v : *plane) v = random.uniform(-1, 1);
  bool with_depth = view.options.depth != DepthOutput::kNone;
  FrameGradient dL_dframe;
  dL_dframe.color.upload(*run.backend, dL_dcolor);
  dL_dframe.alpha.upload(*run.backend, dL_dalpha);
  if (with_depth) dL_dframe.depth.upload(*run.backend, dL_ddepth);

  stipple::Gradients gradients;
  run.backward(view, std::move(dL_dframe), gradients);

  Picture dL;
  for (std::size_t i = 0; i < n; ++i) {
    dL.channels.push_back(
        {dL_dcolor[i], dL_dcolor[n + i], dL_dcolor[2 * n + i], with_depth ? dL_ddepth[i] : 0.0f});
    dL.alpha.push_back(dL_dalpha[i]);
  }
  Reference inputs = to_reference(gaussians, view);
  Vec3<double> unused(0, 0, 0);
  auto dL_dsplat = reference_blend_backward(inputs, reference_project(inputs), dL, unused);
  Reference g = reference_backward(inputs, dL);
  Gaussians ours = download(*run.backend, gradients.sum.gaussians);
  double tolerance = 1e-3;
  expect_close(run.pass.dL_dsplat.splat.download(*run.backend), dL_dsplat, "splat", tolerance);
  expect_close(ours.mean, g.mean, "mean", tolerance);
  expect_close(ours.log_scale, g.log_scale, "log_scale", tolerance);
  expect_close(ours.rotation, g.rotation, "rotation", tolerance);
  expect_close(ours.logit_opacity, g.logit_opacity, "logit_opacity", tolerance);
  expect_close(ours.sh, g.sh, "sh", tolerance);
  expect_close(std::vector{gradients.background}, std::vector{g.background}, "background", tolerance);
  expect_close(std::vector{gradients.camera.camera_from_world.rotation}, std::vector{g.camera.rotation},
               "camera rotation", tolerance);
  expect_close(std::vector{gradients.camera.camera_from_world.translation}, std::vector{g.camera.translation},
               "camera translation", tolerance);
  expect_close(std::vector{gradients.camera.focal_px}, std::vector{g.camera.focal_px}, "focal length",
               tolerance);
  expect_close(std::vector{gradients.camera.center_px}, std::vector{g.camera.center_px}, "principal point",
               tolerance);
}

std::string case_name(const testing::TestParamInfo<std::tuple<std::string, int>>& c) {
  static const auto scenes = conformance_scenes();
  return std::get<0>(c.param) + "_" + scenes[std::get<1>(c.param)].name;
}

INSTANTIATE_TEST_SUITE_P(, Conformance,
                         testing::Combine(testing::ValuesIn(test_backend_names()),
                                          testing::Range(0, static_cast<int>(conformance_scenes().size()))),
                         case_name);

}  // namespace
}  // namespace stipple
