// SPDX-License-Identifier: Apache-2.0
// A model that is moved looks the same from a camera that is moved along.
#include "stipple/edit/transform.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <tuple>

#include "stipple/edit/frame.h"
#include "stipple/edit/harmonics_transform.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"

namespace stipple {
namespace {

Mat3<double> random_rotation(Random& random) {
  return Math<double>::rotation_from_quaternion(
      {random.normal(), random.normal(), random.normal(), random.normal()});
}

SimilarityTransform random_similarity(Random& random, bool reflects) {
  SimilarityTransform t;
  t.rotation = random_rotation(random) * (reflects ? -1.0 : 1.0);
  t.scale = std::exp(random.uniform(-1, 1));
  t.translation = Vec3<double>(random.normal(), random.normal(), random.normal());
  return t;
}

// The camera of the moved world. After a reflection, its rotation is one, too: the camera itself is not
// mirrored, or the picture would be.
Math<double>::Pinhole moved(const SimilarityTransform& t, Math<double>::Pinhole camera) {
  camera.rotation = camera.rotation * transpose(t.rotation);
  camera.translation = camera.translation * t.scale - camera.rotation * t.translation;
  return camera;
}

Picture picture_of(const Gaussians& g, const View& view, const SimilarityTransform& t) {
  Reference scene = to_reference(g, view);
  scene.camera = moved(t, scene.camera);
  scene.settings.near_plane *= t.scale;
  return reference_render(scene);
}

// The share of pixels that differ by more than the tolerance: in a few, rounding decides whether a faint
// splat is drawn.
double share_of_different_pixels(const Picture& a, const Picture& b, double tolerance) {
  double different = 0;
  for (std::size_t i = 0; i < a.channels.size(); ++i) {
    Vec4<double> d = a.channels[i] - b.channels[i];
    d.w = 0;  // depth, which is scaled
    if (!(dot(d, d) <= tolerance * tolerance)) ++different;
  }
  return different / static_cast<double>(a.channels.size());
}

class TransformTest : public testing::TestWithParam<std::tuple<int, bool>> {};

TEST_P(TransformTest, LooksTheSameFromTheMovedCamera) {
  const auto [degree, reflects] = GetParam();
  Random random(static_cast<std::uint64_t>(degree) + 1);
  View view{looking_down_z(64, 48, 60), {}};
  view.camera.camera_from_world.rotation = Math<float>::rotation_from_quaternion({0.9f, 0.1f, -0.2f, 0.3f});
  for (int i = 0; i < 4; ++i) {
    const Gaussians model = random_cloud(200, degree, 7, {.log_scale = -2});
    const SimilarityTransform t = random_similarity(random, reflects);
    Gaussians after = model;
    transform(t, after);
    const Picture expected = picture_of(model, view, {}), ours = picture_of(after, view, t);
    EXPECT_LE(share_of_different_pixels(expected, ours, 2e-5), 0.002);
    // The test would notice harmonics that are left as they are, or turned the wrong way.
    if (degree == 0) continue;
    Gaussians with_old_harmonics = after;
    with_old_harmonics.sh = model.sh;
    EXPECT_GT(share_of_different_pixels(expected, picture_of(with_old_harmonics, view, t), 1e-3), 0.5);
  }
}

INSTANTIATE_TEST_SUITE_P(, TransformTest, testing::Combine(testing::Values(0, 1, 2, 3), testing::Bool()),
                         [](const auto& test) {
                           return "Degree" + std::to_string(std::get<0>(test.param)) +
                                  (std::get<1>(test.param) ? "Reflected" : "Rotated");
                         });

TEST(HarmonicsTransform, TheFunctionTurnsWithItsArgument) {
  Random random(3);
  for (const double sign : {1.0, -1.0}) {
    const Mat3<double> q = random_rotation(random) * sign;
    const HarmonicsTransform harmonics(q);
    for (int trial = 0; trial < 20; ++trial) {
      const Vec3<double> v(random.normal(), random.normal(), random.normal());
      const Vec3<double> d = v * (1 / std::sqrt(dot(v, v)));
      const auto before = Math<double>::harmonic_basis(3, d), after = Math<double>::harmonic_basis(3, q * d);
      for (int k = 0; k < 16; ++k) {  // the function basis_k
        double sum = 0;
        for (int j = 0; j < 16; ++j) sum += harmonics.entry(j, k) * after.b[j];
        EXPECT_NEAR(sum, before.b[k], 1e-13);
      }
    }
  }
}

void expect_same_bits(const Gaussians& a, const Gaussians& b) {
  for_each_parameter(
      [](int, const auto& x, const auto& y) {
        ASSERT_EQ(x.size(), y.size());
        EXPECT_EQ(std::memcmp(x.data(), y.data(), x.size() * sizeof(x[0])), 0);
      },
      a, b);
}

TEST(Transform, TheIdentityKeepsEveryBit) {
  const Gaussians model = random_cloud(100, 3, 1);
  Gaussians after = model;
  transform({}, after);
  expect_same_bits(after, model);
}

TEST(Transform, ATranslationChangesTheMeansAlone) {
  const Gaussians model = random_cloud(100, 3, 1);
  Gaussians after = model;
  SimilarityTransform t;
  t.translation = {1, 2, 3};
  transform(t, after);
  EXPECT_FLOAT_EQ(after.mean[5].z, model.mean[5].z + 3);
  after.mean = model.mean;
  expect_same_bits(after, model);
}

TEST(Transform, TwoInARowAreTheirProduct) {
  Random random(9);
  const Gaussians model = random_cloud(50, 3, 2);
  for (const bool reflects : {false, true}) {
    const SimilarityTransform first = random_similarity(random, reflects),
                              second = random_similarity(random, true);
    Gaussians twice = model, once = model;
    transform(first, twice);
    transform(second, twice);
    transform(second * first, once);
    Gaussians back = once;
    transform(inverse(second * first), back);
    for (std::size_t i = 0; i < model.size(); ++i) {
      for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(twice.mean[i][k], once.mean[i][k], 2e-5);
        EXPECT_NEAR(twice.log_scale[i][k], once.log_scale[i][k], 2e-6);
        EXPECT_NEAR(back.mean[i][k], model.mean[i][k], 2e-5);
      }
      const Mat3f a = Math<float>::covariance({{1, 2, 3}, twice.rotation[i]});
      const Mat3f b = Math<float>::covariance({{1, 2, 3}, once.rotation[i]});
      const Mat3f c = Math<float>::covariance({{1, 2, 3}, back.rotation[i]});
      const Mat3f d = Math<float>::covariance({{1, 2, 3}, model.rotation[i]});
      for (int k = 0; k < 9; ++k) {
        EXPECT_NEAR(a[k / 3][k % 3], b[k / 3][k % 3], 2e-5);
        EXPECT_NEAR(c[k / 3][k % 3], d[k / 3][k % 3], 2e-5);
      }
    }
    for (std::size_t i = 0; i < model.sh.size(); ++i)
      for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(twice.sh[i][k], once.sh[i][k], 1e-6);
        EXPECT_NEAR(back.sh[i][k], model.sh[i][k], 1e-6);
      }
  }
}

TEST(Transform, FlippedAxesOnlyChangeSigns) {
  const Gaussians model = random_cloud(50, 3, 4);
  for (const char* frame : {"rub", "ruf", "ldb", "luf"}) {
    Gaussians after = model;
    transform(change_of_frame("rdf", frame), after);
    const auto expect_magnitudes = [](const std::vector<Vec3f>& a, const std::vector<Vec3f>& b) {
      for (std::size_t i = 0; i < a.size(); ++i)
        for (int k = 0; k < 3; ++k) EXPECT_EQ(std::abs(a[i][k]), std::abs(b[i][k]));
    };
    expect_magnitudes(after.mean, model.mean);
    expect_magnitudes(after.sh, model.sh);
    expect_magnitudes(after.log_scale, model.log_scale);
  }
}

// The signs that the .spz format documents for its frame, of coefficients in the order of the basis.
TEST(Transform, HarmonicsOfFlippedAxesHaveTheSignsOfTheirPolynomials) {
  const HarmonicsTransform flipped(change_of_frame("rdf", "rub").rotation);  // y and z
  const int expected[16] = {1, -1, -1, 1, -1, 1, 1, -1, 1, -1, 1, -1, -1, 1, -1, 1};
  for (int k = 0; k < 16; ++k) EXPECT_EQ(flipped.entry(k, k), expected[k]) << k;
}

TEST(Transform, ABrokenRotationMeansNoRotation) {
  Gaussians g = make_gaussians(1, 0);
  const SimilarityTransform turn = rotation_about_axes({0, 0, 90});
  transform(turn, g);
  const Mat3f r = Math<float>::rotation_from_quaternion(g.rotation[0]);
  EXPECT_NEAR(r[0].y, 1, 1e-6);  // the x axis became the y axis
}

}  // namespace
}  // namespace stipple
