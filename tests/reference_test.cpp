// SPDX-License-Identifier: Apache-2.0
// The gradients of the reference renderer against central finite differences of a loss over the whole image,
// in double, for every input: Gaussians, precomputed colours and covariances, background, camera pose and
// intrinsics.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <string>

#include "stipple/backend/render_settings.h"
#include "stipple/reference/reference_render.h"

namespace stipple {
namespace {

using M = Math<double>;
using Scene = ReferenceScene<double>;
using Picture = ReferencePicture<double>;

struct Case {
  std::size_t count;
  int sh_degree;
  bool antialiased = false;
  bool inverse_depth = false;
  bool precomputed = false;
  double spread = 1.2;  // of the means; with 3, many are outside the view, where the Jacobian is clamped
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.count << " Gaussians, degree " << c.sh_degree << (c.antialiased ? ", antialiased" : "")
       << (c.inverse_depth ? ", inverse depth" : "") << (c.precomputed ? ", precomputed" : "") << ", spread "
       << c.spread;
}

class Random {
 public:
  explicit Random(unsigned seed) : rng_(seed) {}
  double operator()(double low, double high) { return std::uniform_real_distribution<>(low, high)(rng_); }
  Vec3<double> vec3(double low, double high) {
    return {(*this)(low, high), (*this)(low, high), (*this)(low, high)};
  }
  Vec4<double> vec4(double low, double high) {
    return {(*this)(low, high), (*this)(low, high), (*this)(low, high), (*this)(low, high)};
  }

 private:
  std::mt19937 rng_;
};

Scene random_scene(const Case& c, unsigned seed) {
  Random random(seed);
  Scene s;
  s.sh_degree = c.sh_degree;
  for (std::size_t i = 0; i < c.count; ++i) {
    s.mean.push_back({random(-c.spread, c.spread), random(-c.spread, c.spread), random(-1, 1)});
    s.log_scale.push_back(random.vec3(std::log(0.1), std::log(0.8)));
    s.rotation.push_back(random.vec4(-1, 1));
    s.logit_opacity.push_back(random(-4, c.count > 50 ? -1 : 6));  // up to 0.997: some are clamped at 0.99
    for (std::size_t k = 0; k < s.sh_count(); ++k) s.sh.push_back(random.vec3(-0.8, 0.8));  // some clamp at 0
    if (c.precomputed) {
      s.color.push_back(random.vec3(0, 1));
      Mat3<double> S = M::covariance({random.vec3(0.1, 0.8), random.vec4(-1, 1)});
      s.covariance.push_back({S[0][0], S[0][1], S[0][2], S[1][1], S[1][2], S[2][2]});
    }
  }
  s.camera.rotation =
      M::rotation_from_quaternion({1, random(-0.1, 0.1), random(-0.1, 0.1), random(-0.1, 0.1)});
  s.camera.translation = {random(-0.1, 0.1), random(-0.1, 0.1), 3};
  s.camera.focal_px = {18, 16};
  s.camera.center_px = {8.7, 5.6};
  s.camera.size_px = {16, 12};
  s.background = {0.2, 0.5, 0.8};
  s.settings = render_settings<Math<double>::RenderSettings>({});
  s.settings.scale_modifier = 1.1;
  s.settings.alpha_max = 0.99;  // exactly, since the default is a float
  s.settings.antialiased = c.antialiased;
  s.settings.inverse_depth = c.inverse_depth;
  return s;
}

bool near(double value, double threshold) { return std::abs(value / threshold - 1) < 2e-4; }

// Finite differences are meaningless where a small step changes which splats are drawn.
bool is_near_a_threshold(const Scene& scene) {
  auto splats = reference_project(scene);
  auto order = reference_order(splats);
  for (std::size_t n = 0; n < order.size(); ++n) {
    const auto& s = splats[order[n]];
    M::Projected p = M::project(s.placed, scene.camera);
    Vec3<double> in_camera = scene.camera.rotation * s.placed.mean + scene.camera.translation;
    Vec2<double> slope(in_camera.x / p.depth, in_camera.y / p.depth);
    Vec2<double> low = M::slope_limit_low(scene.camera), high = M::slope_limit_high(scene.camera);
    if (near(slope.x, low.x) || near(slope.x, high.x) || near(slope.y, low.y) || near(slope.y, high.y))
      return true;
    if (near(p.depth, scene.settings.near_plane) || near(s.footprint.opacity, M::min_alpha)) return true;
    if (n > 0 && near(p.depth, splats[order[n - 1]].footprint.depth)) return true;
    if (scene.color.empty())
      for (int c = 0; c < 3; ++c)
        if (near(s.sh_sum[c], -0.5)) return true;
    for (int y = 0; y < scene.height(); ++y)
      for (int x = 0; x < scene.width(); ++x) {
        double alpha = M::unclamped_alpha(s.splat, pixel_center<double>(x, y));
        if (near(alpha, M::min_alpha) || near(alpha, scene.settings.alpha_max)) return true;
      }
  }
  for (int y = 0; y < scene.height(); ++y)
    for (int x = 0; x < scene.width(); ++x) {
      double transmittance = 1;
      for (std::size_t i : order) {
        transmittance *=
            1 - M::alpha_at(splats[i].splat, pixel_center<double>(x, y), scene.settings.alpha_max);
        if (near(transmittance, M::min_transmittance)) return true;
        if (transmittance < M::min_transmittance) break;
      }
    }
  return false;
}

Scene scene_away_from_thresholds(const Case& c) {
  for (unsigned seed = 1;; ++seed) {
    Scene scene = random_scene(c, seed);
    if (!is_near_a_threshold(scene)) return scene;
    if (seed == 5000) throw std::runtime_error("no seed gives a scene far enough from the thresholds");
  }
}

double loss(const Scene& scene, const Picture& weights) {
  Picture picture = reference_render(scene);
  double sum = 0;
  for (std::size_t i = 0; i < picture.alpha.size(); ++i)
    sum += dot(picture.channels[i], weights.channels[i]) + picture.alpha[i] * weights.alpha[i];
  return sum;
}

// Central difference with Richardson extrapolation, of order O(h^4).
double difference(Scene& scene, const Picture& weights, double& variable) {
  auto slope = [&](double h) {
    double center = variable;
    variable = center + h;
    double above = loss(scene, weights);
    variable = center - h;
    double below = loss(scene, weights);
    variable = center;
    return (above - below) / (2 * h);
  };
  double h = 1e-6;
  return (4 * slope(h) - slope(2 * h)) / 3;
}

template <class Array>
std::span<double> doubles(Array& array) {
  return {reinterpret_cast<double*>(array.data()), array.size() * sizeof(array[0]) / sizeof(double)};
}

// Checks the relative error by norm over at most 60 evenly spaced entries of one array of inputs.
void expect_differences(Scene& scene, const Picture& weights, std::span<double> inputs,
                        std::span<double> gradient, const std::string& name) {
  ASSERT_EQ(inputs.size(), gradient.size()) << name;
  double error = 0, norm = 0;
  std::size_t stride = inputs.size() / 60 + 1;
  for (std::size_t i = 0; i < inputs.size(); i += stride) {
    double expected = difference(scene, weights, inputs[i]);
    error += (expected - gradient[i]) * (expected - gradient[i]);
    norm += expected * expected;
  }
  EXPECT_LE(std::sqrt(error), 1e-6 * std::sqrt(norm) + 1e-12) << name;
  if (!inputs.empty()) {
    EXPECT_GT(norm, 0) << name << " has no influence on the loss, so nothing was tested";
  }
}

class ReferenceGradients : public testing::TestWithParam<Case> {};

TEST_P(ReferenceGradients, MatchFiniteDifferences) {
  const Case& c = GetParam();
  Scene scene = scene_away_from_thresholds(c);
  Random random(7);
  Picture weights;
  for (int i = 0; i < scene.width() * scene.height(); ++i) {
    weights.channels.push_back(random.vec4(-1, 1));
    weights.alpha.push_back(random(-1, 1));
  }
  Scene g = reference_backward(scene, weights);

  auto expect = [&](std::span<double> inputs, std::span<double> gradient, const char* name) {
    expect_differences(scene, weights, inputs, gradient, name);
  };
  expect(doubles(scene.mean), doubles(g.mean), "mean");
  expect(doubles(scene.logit_opacity), doubles(g.logit_opacity), "opacity");
  if (c.precomputed) {
    expect(doubles(scene.color), doubles(g.color), "color");
    expect(doubles(scene.covariance), doubles(g.covariance), "covariance");
  } else {
    expect(doubles(scene.sh), doubles(g.sh), "sh");
    expect(doubles(scene.log_scale), doubles(g.log_scale), "scale");
    expect(doubles(scene.rotation), doubles(g.rotation), "rotation");
  }
  expect({&scene.background.x, 3}, {&g.background.x, 3}, "background");
  expect({&scene.camera.rotation[0].x, 9}, {&g.camera.rotation[0].x, 9}, "camera rotation");
  expect({&scene.camera.translation.x, 3}, {&g.camera.translation.x, 3}, "camera translation");
  expect({&scene.camera.focal_px.x, 2}, {&g.camera.focal_px.x, 2}, "focal length");
  expect({&scene.camera.center_px.x, 2}, {&g.camera.center_px.x, 2}, "principal point");
}

INSTANTIATE_TEST_SUITE_P(, ReferenceGradients,
                         testing::Values(Case{1, 0}, Case{1, 3}, Case{10, 3}, Case{10, 2, true},
                                         Case{10, 1, false, true}, Case{10, 0, true, true, true},
                                         Case{10, 3, false, false, false, 3},
                                         Case{10, 3, true, true, false, 3}, Case{100, 1},
                                         Case{100, 3, true, true, false, 3},
                                         Case{100, 0, false, false, true}));

// The cases above must reach the branches they were added for.
TEST(ReferenceScenes, CoverTheClampedBranches) {
  int clamped_view = 0, clamped_alpha = 0, clamped_color = 0;
  for (const Case& c : {Case{10, 3, false, false, false, 3}, Case{10, 3}}) {
    Scene scene = scene_away_from_thresholds(c);
    for (const auto& s : reference_project(scene)) {
      if (s.footprint.opacity == 0) continue;
      auto terms = M::projection_terms(s.placed, scene.camera);
      clamped_view += !(terms.slope == terms.clamped);
      clamped_color += s.sh_sum.x < -0.5 || s.sh_sum.y < -0.5 || s.sh_sum.z < -0.5;
      for (int y = 0; y < scene.height(); ++y)
        for (int x = 0; x < scene.width(); ++x)
          clamped_alpha += M::unclamped_alpha(s.splat, pixel_center<double>(x, y)) > 0.99;
    }
  }
  EXPECT_GT(clamped_view, 0);
  EXPECT_GT(clamped_alpha, 0);
  EXPECT_GT(clamped_color, 0);
}

TEST(ReferenceRender, CullsNaNGaussians) {
  Case c{10, 2};
  double nan = std::numeric_limits<double>::quiet_NaN();
  Scene clean = random_scene(c, 3);
  for (int field = 0; field < 5; ++field) {
    Scene scene = clean, without = clean;
    if (field == 0) scene.mean[4].y = nan;
    if (field == 1) scene.log_scale[4].x = nan;
    if (field == 2) scene.rotation[4].w = nan;
    if (field == 3) scene.logit_opacity[4] = nan;
    if (field == 4) scene.sh[4 * scene.sh_count()].x = nan;
    without.logit_opacity[4] = -std::numeric_limits<double>::infinity();
    Picture picture = reference_render(scene), expected = reference_render(without);
    for (std::size_t i = 0; i < picture.alpha.size(); ++i) {
      ASSERT_EQ(picture.alpha[i], expected.alpha[i]) << field;
      ASSERT_TRUE(picture.channels[i] == expected.channels[i]) << field;
    }
    Scene g = reference_backward(scene, picture);
    for (double v : doubles(g.mean)) ASSERT_TRUE(std::isfinite(v)) << field;
    for (double v : doubles(g.log_scale)) ASSERT_TRUE(std::isfinite(v)) << field;
    for (double v : doubles(g.rotation)) ASSERT_TRUE(std::isfinite(v)) << field;
  }
}

TEST(ReferenceRender, BlendsAnOpaqueGaussianOverTheBackground) {
  Scene s = random_scene({1, 0}, 1);
  s.mean[0] = {0, 0, 0};
  s.logit_opacity[0] = 50;
  s.sh[0] = Vec3<double>(0.5, 0, -0.5) * (1 / M::sh_0);
  s.camera.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  s.camera.translation = {0, 0, 3};
  s.camera.center_px = {8.5, 5.5};  // the centre of pixel (8, 5)
  Picture picture = reference_render(s);
  std::size_t at = 5 * 16 + 8;
  EXPECT_NEAR(picture.alpha[at], 0.99, 1e-12);
  EXPECT_NEAR(picture.channels[at].x, 0.99 * 1.0 + 0.01 * 0.2, 1e-12);
  EXPECT_NEAR(picture.channels[at].y, 0.99 * 0.5 + 0.01 * 0.5, 1e-12);
  EXPECT_NEAR(picture.channels[at].z, 0.99 * 0.0 + 0.01 * 0.8, 1e-12);
  EXPECT_NEAR(picture.channels[at].w, 0.99 * 3, 1e-12);
}

}  // namespace
}  // namespace stipple
