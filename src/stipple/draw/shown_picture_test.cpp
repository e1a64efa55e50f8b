// SPDX-License-Identifier: Apache-2.0
#include "stipple/draw/shown_picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stipple/camera/pose.h"

namespace stipple {
namespace {

RenderedImages two_pixels() {
  RenderedImages images{Image(2, 1, 3), Image(2, 1, 1), Image(2, 1, 1)};
  images.color.values = {0, 0.5f, 1, -1, NAN, 2};
  images.alpha.values = {1, 0.5f};
  images.depth.values = {1, 2};  // expected depth, not divided by alpha: the second pixel is at 4
  return images;
}

TEST(ShownPicture, ColorsAreRoundedAndClamped) {
  const ByteImage picture = shown_picture(two_pixels(), {Shown::kColor});
  EXPECT_EQ(picture.values, (std::vector<std::uint8_t>{0, 128, 255, 0, 0, 255}));
}

TEST(ShownPicture, AlphaIsGrey) {
  const ByteImage picture = shown_picture(two_pixels(), {Shown::kAlpha});
  EXPECT_EQ(picture.values, (std::vector<std::uint8_t>{255, 255, 255, 128, 128, 128}));
}

TEST(ShownPicture, DepthsAreThoseOfWhatIsSeen) {
  const Vec3f white(1, 1, 1);
  const ByteImage picture = shown_picture(two_pixels(), {Shown::kDepth, white, 3});
  const Vec3f near = Math<float>::depth_color(1, 3);
  const Vec3f far = Math<float>::depth_color(4, 3) * 0.5f + white * 0.5f;  // half transparent
  for (int c = 0; c < 3; ++c) {
    EXPECT_NEAR(picture.values[static_cast<std::size_t>(c)], 255 * near[c], 1);
    EXPECT_NEAR(picture.values[static_cast<std::size_t>(3 + c)], 255 * far[c], 1);
  }
  RenderedImages nothing = two_pixels();
  nothing.alpha.values = {0, 0};
  nothing.depth.values = {0, 0};
  EXPECT_EQ(shown_picture(nothing, {Shown::kDepth, white}).values, std::vector<std::uint8_t>(6, 255));
}

TEST(Palette, DepthColorsGetDarkerAndStayInRange) {
  float before = 2;
  for (float depth = 0; depth < 100; depth = 1.1f * depth + 0.01f) {
    const Vec3f color = Math<float>::depth_color(depth, 1);
    const float brightness = 0.3f * color.x + 0.59f * color.y + 0.11f * color.z;
    EXPECT_LT(brightness, before) << depth;
    before = brightness;
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(color[c], std::clamp(color[c], 0.0f, 1.0f), 0.01f) << depth;
  }
}

TEST(Palette, NeighboursHaveDifferentColors) {
  for (std::uint32_t i = 0; i < 100; ++i) {
    const Vec3f d = Math<float>::gaussian_color(i) - Math<float>::gaussian_color(i + 1);
    EXPECT_GT(dot(d, d), 1e-4f) << i;
  }
}

// The surface is where the Gaussian's own alpha falls below kEllipsoidAlpha.
TEST(ShownPicture, EllipsoidsAreSolidUpToTheirSurface) {
  Gaussians g = make_gaussians(2, 3);
  constexpr float kOpacity = 0.9f, kSigmaPx = 20;
  g.mean = {{0, 0, 1}, {0, 0, 0.9f}};
  for (Vec3f& scale : g.log_scale) scale = Vec3f(1, 1, 1) * std::log(kSigmaPx / 100);
  for (Vec4f& rotation : g.rotation) rotation = {1, 0, 0, 0};
  g.logit_opacity = {Math<float>::logit(kOpacity), Math<float>::logit(0.1f)};  // the second does not show
  const auto backend = make_backend("cpu");
  const Ellipsoids ellipsoids = gaussians_as_ellipsoids(*backend, upload(*backend, g));
  Camera camera{{}, {100, 100}, {64.5f, 64.5f}, 129, 129};
  Pass pass;
  render_frame(*backend, ellipsoids.gaussians, ellipsoids.precomputed,
               {camera, options_to_show(Shown::kGaussians, {})}, pass);
  const RenderedImages images = download_frame(*backend, pass.frame);
  const float radius = kSigmaPx * std::sqrt(2 * std::log(kOpacity / kEllipsoidAlpha));
  const Vec3f color = Math<float>::gaussian_color(0);
  for (int x = 64; x < 129; ++x) {
    const auto distance = static_cast<float>(x - 64);
    const float alpha = images.alpha.at(x, 64, 0);
    if (distance < 0.95f * radius) {
      EXPECT_GT(alpha, 0.9f) << x;
      EXPECT_NEAR(images.color.at(x, 64, 0), alpha * color.x, 0.01f) << x;
    }
    if (distance > 1.15f * radius) {
      EXPECT_LT(alpha, 0.05f) << x;
    }
  }
}

}  // namespace
}  // namespace stipple
