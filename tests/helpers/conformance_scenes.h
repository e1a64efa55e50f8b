// SPDX-License-Identifier: Apache-2.0
#pragma once
// Scenes that every backend must render like the reference: ordinary scenes and edge cases.
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/core/random.h"

namespace stipple {

struct ConformanceScene {
  std::string name;
  std::function<Gaussians()> gaussians;  // generates them, so that listing the scenes costs nothing
  View view;
  std::vector<float> filter_variance{};  // Precomputed::filter_variance
};

inline Camera looking_down_z(int width, int height, float focal_px) {
  Camera c;
  c.camera_from_world.translation = {0, 0, 4};
  c.focal_px = {focal_px, focal_px * 1.05f};
  c.center_px = {static_cast<float>(width) / 2, static_cast<float>(height) / 2};
  c.width_px = width;
  c.height_px = height;
  return c;
}

struct CloudOptions {
  float spread = 2;      // half the side of the box that holds the means, in scene units
  float log_scale = -3;  // mean of the distribution
  float log_scale_sd = 0.7f;
  float logit_opacity = 0;  // mean of the distribution
  float logit_opacity_sd = 1.5f;
  float depth_spread = 1.5f;
};

inline Gaussians random_cloud(std::size_t count, int sh_degree, std::uint64_t seed,
                              const CloudOptions& o = {}) {
  Random random(seed);
  Gaussians g = make_gaussians(count, sh_degree);
  for (std::size_t i = 0; i < count; ++i) {
    g.mean[i] = {random.uniform(-o.spread, o.spread), random.uniform(-o.spread, o.spread),
                 random.uniform(-o.depth_spread, o.depth_spread)};
    for (int k = 0; k < 3; ++k) g.log_scale[i][k] = o.log_scale + o.log_scale_sd * random.normal();
    g.rotation[i] = {random.normal(), random.normal(), random.normal(), random.normal()};
    g.logit_opacity[i] = o.logit_opacity + o.logit_opacity_sd * random.normal();
    for (int k = 0; k < g.sh_count(); ++k) {
      float sd = k == 0 ? 1.0f : 0.2f;
      g.sh[i * g.sh_count() + k] = {sd * random.normal(), sd * random.normal(), sd * random.normal()};
    }
  }
  return g;
}

inline std::function<Gaussians()> cloud(std::size_t count, int sh_degree, std::uint64_t seed,
                                        const CloudOptions& o = {}) {
  return [=] { return random_cloud(count, sh_degree, seed, o); };
}

// Variances of a filter whose sigma is between 0.1 and 2.7 times exp(log_scale); some are 0.
inline std::vector<float> random_filter(std::size_t count, float log_scale, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> variance(count);
  for (std::size_t i = 0; i < count; ++i) {
    const float sigma = std::exp(log_scale + random.uniform(-2.3f, 1));
    variance[i] = i % 7 == 0 ? 0.0f : sigma * sigma;
  }
  return variance;
}

inline std::vector<ConformanceScene> conformance_scenes() {
  std::vector<ConformanceScene> scenes;
  auto add = [&](std::string name, std::function<Gaussians()> g, Camera camera, RenderOptions options = {}) {
    options.background = {0.1f, 0.3f, 0.6f};
    scenes.push_back({std::move(name), std::move(g), {camera, options}});
  };
  add("one", cloud(1, 3, 1, {.spread = 0.1f, .log_scale = -1.5f}), looking_down_z(64, 48, 60));
  add("ten_degree_0", cloud(10, 0, 2, {.spread = 1, .log_scale = -1.5f}), looking_down_z(64, 48, 60));
  add("hundred_degree_1", cloud(100, 1, 3, {.spread = 1.5f, .log_scale = -2}), looking_down_z(100, 75, 90));
  add("thousand_degree_2", cloud(1000, 2, 4), looking_down_z(160, 120, 140));
  add("twenty_thousand", cloud(20000, 3, 5, {.spread = 3, .log_scale = -4}),
      looking_down_z(81, 50, 49));  // small, because the reference visits every Gaussian at every pixel
  add("image_1x1", cloud(50, 1, 6, {.spread = 0.1f}), looking_down_z(1, 1, 2));
  add("image_17x1", cloud(200, 1, 7, {.spread = 0.5f}), looking_down_z(17, 1, 15));
  add("image_245x136", cloud(500, 3, 8), looking_down_z(245, 136, 150));
  add("image_641x363", cloud(300, 0, 9), looking_down_z(641, 363, 400));
  {
    Camera away = looking_down_z(64, 48, 60);
    away.camera_from_world.translation = {0, 0, -9};
    add("behind_the_camera", cloud(100, 1, 10), away);
  }
  add("in_one_tile", cloud(2000, 0, 11, {.spread = 0.05f, .log_scale = -4.5f, .logit_opacity = -3}),
      looking_down_z(64, 48, 60));
  {
    const auto g = cloud(1, 1, 12, {.spread = 0.1f, .log_scale = 3, .log_scale_sd = 0.1f});
    add("over_the_whole_screen", g, looking_down_z(96, 80, 60));
  }
  add("opaque_layers",
      cloud(4000, 0, 13,
            {.spread = 0.3f,
             .log_scale = -0.5f,
             .log_scale_sd = 0.2f,
             .logit_opacity = 4,
             .depth_spread = 2.5f}),
      looking_down_z(48, 33, 40));
  {
    const auto needles = [] {
      Gaussians g = random_cloud(300, 1, 14, {.spread = 1.5f, .logit_opacity_sd = 1});
      for (Vec3f& s : g.log_scale) s = {-1.0f, -5.5f, -5.5f};
      return g;
    };
    add("needles", needles, looking_down_z(128, 96, 100));
  }
  {
    Camera shifted = looking_down_z(120, 90, 100);
    shifted.center_px = {23.5f, 70.25f};
    add("off_centre", cloud(400, 3, 15), shifted);
  }
  add("wide_field_of_view", cloud(400, 2, 16, {.spread = 6}), looking_down_z(120, 90, 30));
  {
    Camera turned = looking_down_z(120, 90, 100);
    turned.camera_from_world.rotation = Math<float>::rotation_from_quaternion({0.9f, 0.1f, -0.25f, 0.2f});
    add("turned", cloud(400, 3, 17), turned);
  }
  add("antialiased", cloud(1000, 1, 18, {.log_scale = -5}), looking_down_z(120, 90, 100),
      {.antialiased = true});
  add("expected_depth", cloud(400, 1, 19), looking_down_z(120, 90, 100), {.depth = DepthOutput::kExpected});
  add("inverse_depth", cloud(400, 1, 20), looking_down_z(120, 90, 100), {.depth = DepthOutput::kInverse});
  add("alpha_max_and_scale", cloud(400, 1, 21, {.logit_opacity = 3}), looking_down_z(120, 90, 100),
      {.scale_modifier = 1.4f, .alpha_max = 0.999f, .near_plane = 3.5f});
  add("more_blur", cloud(400, 1, 23, {.log_scale = -4}), looking_down_z(120, 90, 100), {.blur_px2 = 1.1f});
  add("filtered", cloud(1003, 1, 24, {.log_scale = -4}), looking_down_z(120, 90, 100),
      {.antialiased = true, .scale_modifier = 1.2f});
  scenes.back().filter_variance = random_filter(1003, -4, 25);
  // So faint that no splat reaches alpha_max: two that do bring the transmittance to exactly the limit at
  // which blending stops, and rounding decides.
  add("dropout", cloud(1003, 2, 26, {.logit_opacity = -1, .logit_opacity_sd = 0.5f}),
      looking_down_z(120, 90, 100));
  scenes.back().view.dropout = {0.3f, 27};
  add("filtered_with_dropout", cloud(500, 0, 28, {.log_scale = -4}), looking_down_z(120, 90, 100),
      {.depth = DepthOutput::kExpected});
  scenes.back().filter_variance = random_filter(500, -4, 29);
  scenes.back().view.dropout = {0.2f, 30};
  add(
      "equal_depths",
      [] {
        Gaussians g = random_cloud(500, 0, 22);
        for (Vec3f& m : g.mean) m.z = 0;
        return g;
      },
      looking_down_z(120, 90, 100));
  add(
      "no_gaussians", [] { return make_gaussians(0, 2); }, looking_down_z(40, 30, 40));
  return scenes;
}

}  // namespace stipple
