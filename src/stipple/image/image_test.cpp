// SPDX-License-Identifier: Apache-2.0
#include "stipple/image/image.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace stipple {
namespace {

Image filled(int width, int height, int channels, std::vector<float> values) {
  Image image(width, height, channels);
  EXPECT_EQ(values.size(), image.values.size());
  image.values = std::move(values);
  return image;
}

Image random_image(int width, int height, int channels) {
  std::mt19937 random(5);
  Image image(width, height, channels);
  for (float& value : image.values) value = std::uniform_real_distribution<float>(0, 1)(random);
  return image;
}

double sum(const Image& image) {
  double total = 0;
  for (const float value : image.values) total += value;
  return total;
}

TEST(Image, ToRgbRepeatsGrey) {
  const Image rgb = to_rgb(filled(2, 1, 1, {0.25f, 2}));
  EXPECT_EQ(rgb.channel_count, 3);
  EXPECT_EQ(rgb.values, (std::vector<float>{0.25f, 0.25f, 0.25f, 2, 2, 2}));
}

TEST(Image, ToRgbBlendsWithTheBackground) {
  EXPECT_EQ(to_rgb(filled(2, 1, 2, {1, 0.25f, 0.5f, 1}), {0, 1, 0.5f}).values,
            (std::vector<float>{0.25f, 1, 0.625f, 0.5f, 0.5f, 0.5f}));
  EXPECT_EQ(to_rgb(filled(2, 1, 4, {1, 0, 0.5f, 0, 1, 0.5f, 0, 0.5f}), {0, 1, 0.5f}).values,
            (std::vector<float>{0, 1, 0.5f, 0.5f, 0.75f, 0.25f}));
  EXPECT_EQ(to_rgb(filled(1, 1, 4, {1, 0, 0.5f, 0.5f})).values, (std::vector<float>{0.5f, 0, 0.25f}));
}

TEST(Image, ToRgbReturnsRgbUnchanged) {
  const Image image = random_image(3, 2, 3);
  EXPECT_EQ(to_rgb(image, {1, 1, 1}).values, image.values);
}

TEST(Image, ShrinkReturnsSmallImagesUnchanged) {
  const Image image = random_image(6, 4, 3);
  EXPECT_EQ(shrink_to(image, 6).values, image.values);
  EXPECT_EQ(shrink_to(image, 100).values, image.values);
}

TEST(Image, ShrinkAveragesWholePixels) {
  const Image small = shrink_to(filled(4, 2, 1, {1, 2, 3, 4, 5, 6, 7, 8}), 2);
  EXPECT_EQ(small.width_px, 2);
  EXPECT_EQ(small.height_px, 1);
  EXPECT_EQ(small.values, (std::vector<float>{3.5f, 5.5f}));
}

TEST(Image, ShrinkAveragesFractionsOfPixels) {
  // Each new pixel covers one and a half old ones.
  const Image small = shrink_to(filled(3, 1, 1, {3, 6, 9}), 2);
  ASSERT_EQ(small.width_px, 2);
  EXPECT_FLOAT_EQ(small.values[0], (3 + 6 * 0.5f) / 1.5f);
  EXPECT_FLOAT_EQ(small.values[1], (6 * 0.5f + 9) / 1.5f);
}

TEST(Image, ShrinkPreservesTheMean) {
  for (const int channels : {1, 3}) {
    const Image image = random_image(37, 29, channels);
    for (int side = 1; side < 37; ++side) {
      const Image small = shrink_to(image, side);
      EXPECT_EQ(small.width_px, side);
      EXPECT_EQ(small.height_px, std::max(1L, std::lround(29.0 * side / 37)));
      EXPECT_NEAR(sum(small) / static_cast<double>(small.values.size()),
                  sum(image) / static_cast<double>(image.values.size()), 1e-6);
    }
  }
}

TEST(Image, ShrinkKeepsAtLeastOnePixelPerSide) {
  const Image small = shrink_to(random_image(1000, 1, 3), 10);
  EXPECT_EQ(small.width_px, 10);
  EXPECT_EQ(small.height_px, 1);
  EXPECT_EQ(shrink_to(random_image(1, 1000, 2), 10).width_px, 1);
}

TEST(Image, ShrinkWeightsColoursByAlpha) {
  // The fully transparent red pixel must not tint its green neighbour.
  const Image small = shrink_to(filled(2, 1, 4, {1, 0, 0, 0, 0, 1, 0, 0.5f}), 1);
  EXPECT_EQ(small.values, (std::vector<float>{0, 1, 0, 0.25f}));
  EXPECT_EQ(shrink_to(filled(2, 1, 2, {1, 0, 1, 0}), 1).values, (std::vector<float>{0, 0}));
  // Hence shrinking and blending with the background may be done in either order.
  const Image image = random_image(9, 7, 4);
  const Image one = to_rgb(shrink_to(image, 4), {0.2f, 0.4f, 0.6f});
  const Image other = shrink_to(to_rgb(image, {0.2f, 0.4f, 0.6f}), 4);
  for (std::size_t i = 0; i < one.values.size(); ++i) EXPECT_NEAR(one.values[i], other.values[i], 1e-6);
}

TEST(Image, PsnrOfAKnownErrorIsExact) {
  const Image a = filled(2, 1, 1, {0.5f, 0.25f});
  EXPECT_EQ(psnr(a, a), std::numeric_limits<double>::infinity());
  EXPECT_NEAR(psnr(a, filled(2, 1, 1, {0.5f, 0.75f})), -10 * std::log10(0.125), 1e-12);
  EXPECT_NEAR(psnr(filled(1, 1, 1, {0}), filled(1, 1, 1, {1})), 0, 1e-12);
}

TEST(Image, PsnrClampsValues) {
  EXPECT_EQ(psnr(filled(2, 1, 1, {-4, 1}), filled(2, 1, 1, {0, 9})), std::numeric_limits<double>::infinity());
}

TEST(Image, PsnrSumsInDouble) {
  // In float, a sum of 4 million small squares would stop growing.
  Image a(2000, 2000, 1), b(2000, 2000, 1);
  std::fill(b.values.begin(), b.values.end(), 0.001f);
  b.values[0] = 1;
  const double expected = (1 + (4e6 - 1) * std::pow(static_cast<double>(0.001f), 2)) / 4e6;
  EXPECT_NEAR(psnr(a, b), -10 * std::log10(expected), 1e-9);
}

TEST(Image, PsnrWeightsPixels) {
  const Image a = filled(2, 1, 2, {0, 0, 0, 0}), b = filled(2, 1, 2, {0.5f, 0.5f, 1, 1});
  const std::vector<std::uint8_t> both = {30, 10}, first = {7, 0}, none = {0, 0};
  EXPECT_NEAR(psnr(a, b, both), -10 * std::log10((3 * 0.25 + 1) / 4), 1e-12);
  EXPECT_NEAR(psnr(a, b, first), -10 * std::log10(0.25), 1e-12);
  EXPECT_TRUE(std::isnan(psnr(a, b, none)));
}

#ifndef NDEBUG
TEST(ImageDeathTest, PsnrNeedsEqualSizes) { EXPECT_DEATH(psnr(Image(2, 1, 1), Image(1, 2, 1)), "width_px"); }
#endif

}  // namespace
}  // namespace stipple
