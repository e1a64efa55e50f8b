// SPDX-License-Identifier: Apache-2.0
// What stipple synth does to photos, cameras and points to spoil them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/synth/motion_blur.h"
#include "stipple/synth/shade.h"
#include "stipple/synth/still_life.h"
#include "stipple/synth/synth.h"

namespace stipple {
namespace {

using synth::length;

constexpr float kDegree = 0.017453293f;

SynthOptions small_options(int view_count) {
  return {.view_count = view_count, .width_px = 160, .height_px = 120};
}

bool same(const Camera& a, const Camera& b) {
  return a.camera_from_world.rotation[0] == b.camera_from_world.rotation[0] &&
         a.camera_from_world.rotation[1] == b.camera_from_world.rotation[1] &&
         a.camera_from_world.translation == b.camera_from_world.translation && a.focal_px == b.focal_px;
}

float root_mean_square(const std::vector<float>& values) {
  float sum = 0;
  for (float v : values) sum += v * v;
  return std::sqrt(sum / static_cast<float>(values.size()));
}

// The angle of the rotation that leads from one camera to the other.
float angle_between(const Camera& a, const Camera& b) {
  const Mat3f turn = a.camera_from_world.rotation * transpose(b.camera_from_world.rotation);
  return std::acos(std::clamp((turn[0].x + turn[1].y + turn[2].z - 1) / 2, -1.0f, 1.0f));
}

double mean_of(const Photo& photo) {
  double sum = 0;
  for (std::uint8_t v : photo.rgb) sum += v;
  return sum / static_cast<double>(photo.rgb.size());
}

// The share of pixels at which two photos clearly differ.
double changed_part(const Photo& a, const Photo& b) {
  std::size_t changed = 0;
  for (std::size_t i = 0; i < a.pixel_count(); ++i)
    changed += std::abs(a.rgb[3 * i] - b.rgb[3 * i]) + std::abs(a.rgb[3 * i + 1] - b.rgb[3 * i + 1]) +
                   std::abs(a.rgb[3 * i + 2] - b.rgb[3 * i + 2]) >
               30;
  return static_cast<double>(changed) / static_cast<double>(a.pixel_count());
}

TEST(SynthFaults, AreOffByDefault) {
  for (const SynthView& view : synth_cameras(small_options(12))) {
    EXPECT_TRUE(same(view.camera, view.written_camera));
    EXPECT_EQ(view.faults.blur_px, Vec2f(0, 0));
    EXPECT_EQ(view.faults.exposure_stops, 0);
    EXPECT_EQ(view.faults.passer_by, 0);
  }
}

TEST(SynthFaults, DoNotChangeTheTruthOrEachOther) {
  SynthOptions all = small_options(12), exposure = all;
  all.pose_noise_degrees = 1;
  all.focal_noise = 0.1f;
  all.blur_px = 3;
  all.passer_by_count = 4;
  all.exposure_stops = exposure.exposure_stops = 1;
  const std::vector<SynthView> a = synth_cameras(all), b = synth_cameras(exposure);
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_TRUE(same(a[i].camera, b[i].camera));
    EXPECT_EQ(a[i].faults.exposure_stops, b[i].faults.exposure_stops);
  }
  EXPECT_EQ(synth_points(all).position, synth_points(small_options(12)).position);
}

TEST(SynthFaults, DoNotDependOnThreadCount) {
  SynthOptions options = small_options(3);
  options.blur_px = 3;
  options.exposure_stops = 1;
  options.passer_by_count = 3;
  options.transparent = true;
  SynthPicture one, two;
  with_threads(1, [&] { one = synth_render(synth_cameras(options)[1], options); });
  with_threads(2, [&] { two = synth_render(synth_cameras(options)[1], options); });
  EXPECT_EQ(one.photo.rgb, two.photo.rgb);
  EXPECT_EQ(one.alpha, two.alpha);
}

TEST(SynthFaults, OutOfRangeAreRefusedByName) {
  const auto option_of = [](const SynthOptions& options) {
    try {
      synth_cameras(options);
    } catch (const OptionError& e) {
      return e.option();
    }
    return std::string();
  };
  EXPECT_EQ(option_of({.pose_noise_degrees = -1}), "pose_noise");
  EXPECT_EQ(option_of({.focal_noise = NAN}), "focal_noise");
  EXPECT_EQ(option_of({.blur_px = 1e9f}), "blur");
  EXPECT_EQ(option_of({.exposure_stops = 6}), "exposure");
  EXPECT_EQ(option_of({.view_count = 5, .passer_by_count = 6}), "passers_by");
  EXPECT_EQ(option_of({.view_count = 5, .passer_by_count = 5}), "");
}

TEST(SynthPoseNoise, TurnsAndMovesTheWrittenCameras) {
  SynthOptions options = small_options(300);
  options.pose_noise_degrees = 2;
  std::vector<float> angles, shifts;
  for (const SynthView& view : synth_cameras(options)) {
    const Vec3f true_center = center_of(view.camera), center = center_of(view.written_camera);
    angles.push_back(angle_between(view.camera, view.written_camera));
    shifts.push_back(length(center - true_center) / length(true_center - synth::kMiddle));
    EXPECT_EQ(view.written_camera.focal_px, view.camera.focal_px);
  }
  EXPECT_NEAR(root_mean_square(angles), 2 * kDegree, 0.2f * kDegree);
  EXPECT_NEAR(root_mean_square(shifts), std::tan(2 * kDegree), 0.2f * kDegree);
}

TEST(SynthFocalNoise, GivesEachPhotoAWrongFocalLength) {
  SynthOptions options = small_options(300);
  options.focal_noise = 0.05f;
  std::vector<float> errors;
  for (const SynthView& view : synth_cameras(options)) {
    errors.push_back(view.written_camera.focal_px.x / view.camera.focal_px.x - 1);
    EXPECT_EQ(view.written_camera.focal_px.x, view.written_camera.focal_px.y);
    EXPECT_EQ(view.written_camera.camera_from_world.translation, view.camera.camera_from_world.translation);
  }
  EXPECT_NEAR(root_mean_square(errors), 0.05f, 0.005f);
  std::ranges::sort(errors);
  EXPECT_EQ(std::ranges::adjacent_find(errors), errors.end());
}

TEST(SynthBlur, SpreadsLightAlongTheMotionOnly) {
  Image dot_image(61, 61, 1);
  dot_image.at(30, 30, 0) = 1;
  const Image blurred = synth::motion_blur(dot_image, {3, 4});
  double sum = 0, along = 0, across = 0;
  for (int y = 0; y < 61; ++y)
    for (int x = 0; x < 61; ++x) {
      const double value = blurred.at(x, y, 0), u = 0.6 * (x - 30) + 0.8 * (y - 30),
                   v = 0.8 * (x - 30) - 0.6 * (y - 30);
      sum += value;
      along += value * u * u;
      across += value * v * v;
    }
  EXPECT_NEAR(sum, 1, 1e-4);
  EXPECT_NEAR(std::sqrt(along), 5, 0.1);
  EXPECT_LT(std::sqrt(across), 0.6);
}

TEST(SynthBlur, LeavesAThirdOfThePhotosSharp) {
  SynthOptions options = small_options(300);
  options.blur_px = 4;
  int sharp = 0;
  float most = 0;
  for (const SynthView& view : synth_cameras(options)) {
    const float sigma = std::hypot(view.faults.blur_px.x, view.faults.blur_px.y);
    sharp += sigma == 0;
    most = std::max(most, sigma);
  }
  EXPECT_NEAR(sharp, 100, 20);
  EXPECT_GT(most, 3.9f);
  EXPECT_LE(most, 4.0f);
}

TEST(SynthBlur, SmoothsThePhotoAndKeepsItsDepth) {
  const SynthOptions options = small_options(12);
  SynthView view = synth_cameras(options)[5];
  const SynthPicture sharp = synth_render(view, options);
  view.faults.blur_px = {4, 0};
  const SynthPicture blurred = synth_render(view, options);
  const auto roughness = [](const Photo& photo) {  // the mean difference of horizontal neighbours
    double sum = 0;
    for (std::size_t i = 3; i < photo.rgb.size(); ++i) sum += std::abs(photo.rgb[i] - photo.rgb[i - 3]);
    return sum;
  };
  EXPECT_LT(roughness(blurred.photo), 0.4 * roughness(sharp.photo));
  EXPECT_NEAR(mean_of(blurred.photo), mean_of(sharp.photo), 4);
  EXPECT_EQ(blurred.depth, sharp.depth);
}

TEST(SynthExposure, MultipliesTheLightAndClipsAtWhite) {
  const Vec3f grey(0.2f, 0.2f, 0.2f), bright(3, 3, 3);
  const auto linear = [](std::uint8_t v) { return std::pow((v / 255.0 + 0.055) / 1.055, 2.4); };
  EXPECT_NEAR(linear(synth::develop(grey, 2)[0]), 2 * linear(synth::develop(grey)[0]), 0.005);
  EXPECT_NEAR(linear(synth::develop(bright, 0.5f)[0]), linear(synth::develop(bright)[0]) / 2, 0.005);
  EXPECT_EQ(synth::develop(bright, 2)[0], 255);
}

TEST(SynthExposure, VariesFromPhotoToPhoto) {
  SynthOptions options = small_options(300);
  options.exposure_stops = 0.5f;
  std::vector<float> stops;
  for (const SynthView& view : synth_cameras(options)) stops.push_back(view.faults.exposure_stops);
  EXPECT_NEAR(root_mean_square(stops), 0.5f, 0.05f);
  SynthView view = synth_cameras(small_options(12))[5];
  const double right = mean_of(synth_render(view, options).photo);
  view.faults.exposure_stops = 1;
  EXPECT_GT(mean_of(synth_render(view, options).photo), right + 20);
  view.faults.exposure_stops = -1;
  EXPECT_LT(mean_of(synth_render(view, options).photo), right - 20);
}

TEST(SynthPassersBy, AreSpreadOverTheCapture) {
  SynthOptions options = small_options(20);
  options.passer_by_count = 5;
  const std::vector<SynthView> views = synth_cameras(options);
  int next = 1;
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (views[i].faults.passer_by == 0) continue;
    EXPECT_EQ(views[i].faults.passer_by, next);
    EXPECT_EQ(i / 4 + 1, static_cast<std::size_t>(next));  // one in every four photos
    ++next;
  }
  EXPECT_EQ(next, 6);
  options.seed = 2;
  const std::vector<SynthView> others = synth_cameras(options);
  EXPECT_FALSE(std::ranges::equal(
      views, others, {}, [](const SynthView& v) { return v.faults.passer_by; },
      [](const SynthView& v) { return v.faults.passer_by; }));
}

TEST(SynthPassersBy, CoverATenthOfThePictureAndNoDepth) {
  SynthOptions options = small_options(6);
  options.passer_by_count = 6;
  for (const SynthView& view : synth_cameras(options)) {
    const SynthPicture with = synth_render(view, options), without = synth_render(view.camera, options.seed);
    EXPECT_GT(changed_part(with.photo, without.photo), 0.07) << view.name;
    EXPECT_LT(changed_part(with.photo, without.photo), 0.15) << view.name;  // with its shadow
    EXPECT_EQ(with.depth, without.depth);
  }
}

TEST(SynthPassersBy, DifferFromEachOther) {
  const SynthOptions options = small_options(12);
  SynthView view = synth_cameras(options)[3];
  view.faults.passer_by = 1;
  const Photo one = synth_render(view, options).photo;
  view.faults.passer_by = 2;
  EXPECT_GT(changed_part(one, synth_render(view, options).photo), 0.1);
}

TEST(SynthTransparent, ShowsTheObjectsAlone) {
  SynthOptions options = small_options(12);
  const SynthView view = synth_cameras(options)[3];
  const SynthPicture opaque = synth_render(view, options);
  EXPECT_TRUE(opaque.alpha.empty());
  options.transparent = true;
  const SynthPicture cut_out = synth_render(view, options);
  ASSERT_EQ(cut_out.alpha.size(), cut_out.photo.pixel_count());
  const auto count = [&](auto condition) { return std::ranges::count_if(cut_out.alpha, condition); };
  const auto pixels = static_cast<double>(cut_out.alpha.size());
  EXPECT_GT(count([](int a) { return a == 0; }), 0.5 * pixels);
  EXPECT_GT(count([](int a) { return a == 255; }), 0.05 * pixels);
  EXPECT_GT(count([](int a) { return a > 0 && a < 255; }), 0.01 * pixels);
  int wrong = 0;
  for (std::size_t i = 0; i < cut_out.alpha.size(); ++i) {
    const bool is_clear = cut_out.alpha[i] == 0, is_solid = cut_out.alpha[i] == 255;
    for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) {
      if (is_clear) wrong += cut_out.photo.rgb[c] != 0;
      if (is_solid) wrong += std::abs(cut_out.photo.rgb[c] - opaque.photo.rgb[c]) > 8;
    }
    if (is_clear) wrong += cut_out.depth[i] != 0;
    if (is_solid) wrong += cut_out.depth[i] != opaque.depth[i];
  }
  EXPECT_EQ(wrong, 0);
}

// With premultiplied colours, edges would be darker the less of the pixel an object covers.
TEST(SynthTransparent, EdgesAreNotDarkened) {
  SynthOptions options = small_options(12);
  options.transparent = true;
  double edge = 0, inside = 0, edge_count = 0, inside_count = 0;
  for (const SynthView& view : synth_cameras(options)) {
    const SynthPicture picture = synth_render(view, options);
    for (std::size_t i = 0; i < picture.alpha.size(); ++i) {
      const double green = picture.photo.rgb[3 * i + 1];
      if (picture.alpha[i] == 255) inside += green, ++inside_count;
      if (picture.alpha[i] > 0 && picture.alpha[i] < 128) edge += green, ++edge_count;
    }
  }
  EXPECT_GT(edge / edge_count, 0.8 * inside / inside_count);
}

TEST(SynthTransparent, PointsLieOnTheObjects) {
  SynthOptions options = small_options(12);
  options.transparent = true;
  const Points points = synth_points(options);
  ASSERT_GT(points.size(), 10'000u);
  for (const Vec3f p : points.position) EXPECT_LT(std::hypot(p.x, p.y), synth::kSceneRadius);
}

TEST(SynthPointFaults, PointsCanBeBlackOrMissing) {
  SynthOptions options = small_options(12);
  const Points colored = synth_points(options);
  options.black_points = true;
  const Points black = synth_points(options);
  EXPECT_EQ(black.position, colored.position);
  const std::array<std::uint8_t, 3> kBlack{0, 0, 0};
  EXPECT_EQ(std::ranges::count(black.color, kBlack), static_cast<std::ptrdiff_t>(black.size()));
  options.no_points = true;
  EXPECT_EQ(synth_points(options).size(), 0u);
}

}  // namespace
}  // namespace stipple
