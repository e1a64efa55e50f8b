// SPDX-License-Identifier: Apache-2.0
// Every stage of every backend against the reference renderer in double, on every scene.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "tests/helpers/backend_run.h"
#include "tests/helpers/compare.h"
#include "tests/helpers/conformance_scenes.h"

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

// Compares the splat of every Gaussian. A Gaussian close to a culling threshold may be culled in only one of
// the two.
TEST_P(Conformance, Project) {
  const Gaussians gaussians = scene().gaussians();
  const View& view = scene().view;
  Rendering run(backend(), gaussians, view, scene().filter_variance);
  auto ours = run.splats();
  auto expected = reference_project(to_reference(gaussians, view, scene().filter_variance));
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
    // The conic of a needle suffers from cancellation.
    double aspect = conic * conic / (e.splat.conic.x * e.splat.conic.z - e.splat.conic.y * e.splat.conic.y);
    expect_near(s.conic.x, e.splat.conic.x, conic * (1 + 0.01 * aspect), "conic.x");
    expect_near(s.conic.y, e.splat.conic.y, conic * (1 + 0.01 * aspect), "conic.y");
    expect_near(s.conic.z, e.splat.conic.z, conic * (1 + 0.01 * aspect), "conic.z");
    expect_near(s.opacity, e.splat.opacity, 1, "opacity");
    expect_near(s.channels.x, e.splat.channels.x, 1, "red");
    expect_near(s.channels.y, e.splat.channels.y, 1, "green");
    expect_near(s.channels.z, e.splat.channels.z, 1, "blue");
    expect_near(s.channels.w, e.splat.channels.w, e.splat.channels.w, "depth channel");
    expect_near(ours[i].depth, e.footprint.depth, e.footprint.depth, "depth");
    expect_near(ours[i].half_extent_px.x, e.footprint.half_extent_px.x, 1 + e.footprint.half_extent_px.x,
                "half_extent_px.x");
    expect_near(ours[i].half_extent_px.y, e.footprint.half_extent_px.y, 1 + e.footprint.half_extent_px.y,
                "half_extent_px.y");
    expect_near(ours[i].log2_opacity, std::log2(e.footprint.opacity), 1, "log2_opacity");
  }
  EXPECT_LE(static_cast<double>(differ), 1e-3 * static_cast<double>(ours.size()));
}

// The rows are those of the Gaussians that are shown, in order, without gaps.
TEST_P(Conformance, Rows) {
  const Gaussians gaussians = scene().gaussians();
  Rendering run(backend(), gaussians, scene().view, scene().filter_variance);
  const std::vector<VisibleBlock> visible = run.projection.visible.download(*run.backend);
  ASSERT_EQ(visible.size(), visible_block_count(gaussians.size()));
  std::size_t rows = 0;
  for (std::size_t i = 0; i < visible.size() * VisibleBlock::kGaussians; ++i) {
    const VisibleBlock& block = visible[i / VisibleBlock::kGaussians];
    const std::size_t k = i % VisibleBlock::kGaussians;
    ASSERT_EQ(block.row(k), rows) << "Gaussian " << i;
    if (!block.shows(k)) continue;
    ASSERT_LT(i, gaussians.size());
    ++rows;
  }
  EXPECT_EQ(run.projection.splat.size(), rows);
}

// Each tile lists the Gaussians drawn in it, nearest first.
TEST_P(Conformance, Bin) {
  const Gaussians gaussians = scene().gaussians();
  const View& view = scene().view;
  Rendering run(backend(), gaussians, view, scene().filter_variance);
  auto splats = run.splats();
  auto slots = run.gaussian_from_slot();
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

// The share of pixels where float and double may decide differently. The largest measured is 6e-4
// (opaque_layers).
constexpr double kUndecidedShare = 2e-3;

// At all other pixels the CPU's image is within 1e-5 of the reference; the rest is a margin for other
// devices.
constexpr double kPixelTolerance = 5e-5;

TEST_P(Conformance, Image) {
  const Gaussians gaussians = scene().gaussians();
  const View& view = scene().view;
  Rendering run(backend(), gaussians, view, scene().filter_variance);
  const Reference inputs = to_reference(gaussians, view, scene().filter_variance);
  const Picture expected = reference_render(inputs);
  const std::vector<char> alike =
      pixels_decided_alike(inputs, reference_project(inputs), run.splats(), kUndecidedShare);
  auto color = run.frame.color.download(*run.backend);
  auto transmittance = run.frame.transmittance.download(*run.backend);
  auto depth = run.frame.depth.download(*run.backend);
  std::size_t n = expected.alpha.size();
  ASSERT_EQ(color.size(), 3 * n);
  for (std::size_t i = 0; i < n; ++i) {
    Vec4<double> e = expected.channels[i];
    double error =
        std::max({std::abs(color[i] - e.x), std::abs(color[n + i] - e.y), std::abs(color[2 * n + i] - e.z),
                  std::abs(1 - transmittance[i] - expected.alpha[i])});
    if (!depth.empty()) error = std::max(error, std::abs(depth[i] - e.w) / 5);  // depths are about 5
    // A different decision changes a pixel by about 1/255, or by the difference in colour of two splats.
    ASSERT_LE(error, alike[i] ? kPixelTolerance : 0.05) << "pixel " << i;
  }
}

// A gradient of all outputs that is random at every pixel, and zero where float and double may decide
// differently.
FrameGradient gradient_where_alike(Device& device, const View& view, const std::vector<char>& alike) {
  FrameGradient g = random_gradient(device, view);
  for (DeviceArray<float>* planes : {&g.color, &g.alpha, &g.depth}) {
    std::vector<float> values = planes->download(device);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!alike[i % alike.size()]) values[i] = 0;
    planes->upload(device, values);
  }
  return g;
}

Picture to_picture(const Device& device, const FrameGradient& g) {
  const std::vector<float> color = g.color.download(device), alpha = g.alpha.download(device),
                           depth = g.depth.download(device);
  const std::size_t n = alpha.size();
  Picture picture;
  for (std::size_t i = 0; i < n; ++i) {
    picture.channels.push_back({color[i], color[n + i], color[2 * n + i], depth.empty() ? 0.0f : depth[i]});
    picture.alpha.push_back(alpha[i]);
  }
  return picture;
}

// The tolerance for each Gaussian, in units of its error scale (compare.h). The CPU's largest error in any
// scene is 3.3e-5; other devices round exponentials and products differently and are allowed three times as
// much as the CPU. A tolerance of 1e-4 detects an error of 1 % in a single gradient for 95 to 100 % of the
// Gaussians of an ordinary scene, and for fewer where gradients cancel almost completely (one pixel, one
// tile, opaque layers).
double gradient_tolerance(const std::string& backend) { return backend == "cpu" ? 1e-4 : 3e-4; }

// The tolerance for the gradients of background and camera, relative to their length. They are sums over all
// Gaussians whose terms cancel, down to a tenth for the principal point, whereas rounding errors do not
// cancel.
constexpr double kSumTolerance = 3e-4;

template <class T, class U>
void expect_close(const T& ours, const U& expected, const char* name) {
  constexpr std::size_t kWidth = sizeof(T) / sizeof(float);
  static_assert(sizeof(U) == kWidth * sizeof(double));
  const Rows reference = rows_of<double>(std::vector{expected}, kWidth, 0, kWidth, name);
  expect_rows_near(rows_of<float>(std::vector{ours}, kWidth, 0, kWidth, name), reference, reference,
                   kSumTolerance);
}

TEST_P(Conformance, Gradients) {
  const Gaussians gaussians = scene().gaussians();
  const View& view = scene().view;
  Rendering run(backend(), gaussians, view, scene().filter_variance);
  const Reference inputs = to_reference(gaussians, view, scene().filter_variance);
  const auto splats = reference_project(inputs);
  const std::vector<char> alike = pixels_decided_alike(inputs, splats, run.splats(), kUndecidedShare);
  FrameGradient dL_dframe = gradient_where_alike(*run.backend, view, alike);
  const Picture dL_dpicture = to_picture(*run.backend, dL_dframe);
  stipple::Gradients gradients;
  run.backward(view, std::move(dL_dframe), gradients);

  Reference g = zero_gradient_of(inputs);
  const auto dL_dsplat = reference_blend_backward(inputs, splats, dL_dpicture, g.background);
  for (std::size_t i = 0; i < splats.size(); ++i)
    if (splats[i].footprint.opacity > 0) reference_project_backward(inputs, splats[i], i, dL_dsplat[i], g);

  const auto splat_scale = splat_error_scale(inputs, splats, dL_dpicture);
  const double tolerance = gradient_tolerance(backend());
  expect_rows_near(splat_rows<float>(run.splat_gradients()), splat_rows<double>(dL_dsplat),
                   splat_rows<double>(splat_scale), tolerance);
  expect_rows_near(parameter_rows<float>(download(*run.backend, gradients.sum.gaussians)),
                   parameter_rows<double>(g), parameter_error_scale(inputs, splats, splat_scale), tolerance);

  const RigidTransform& pose = gradients.camera.camera_from_world;
  expect_close(gradients.background, g.background, "background");
  expect_close(pose.rotation, g.camera.rotation, "camera rotation");
  expect_close(pose.translation, g.camera.translation, "camera translation");
  expect_close(gradients.camera.focal_px, g.camera.focal_px, "focal length");
  expect_close(gradients.camera.center_px, g.camera.center_px, "principal point");
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
