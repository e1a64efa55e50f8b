// SPDX-License-Identifier: Apache-2.0
#include "stipple/image/area_scale.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "stipple/core/parallel.h"
#include "stipple/image/image.h"

namespace stipple {
namespace {

ByteImage filled(int width, int height, int channels, std::vector<std::uint8_t> values) {
  ByteImage image(width, height, channels);
  EXPECT_EQ(values.size(), image.values.size());
  image.values = std::move(values);
  return image;
}

ByteImage random_image(int width, int height, int channels) {
  std::mt19937 random(7);
  ByteImage image(width, height, channels);
  for (std::uint8_t& value : image.values) value = static_cast<std::uint8_t>(random());
  return image;
}

TEST(AreaScale, ReturnsImagesOfTheSameSizeUnchanged) {
  const ByteImage image = random_image(7, 5, 3);
  EXPECT_EQ(area_scaled(image, 7, 5).values, image.values);
}

TEST(AreaScale, IsTheRoundedMeanForIntegerFactors) {
  for (const int factor : {2, 3, 4, 5, 6, 7, 12}) {
    const ByteImage image = random_image(5 * factor, 3 * factor, 3);
    const ByteImage small = area_scaled(image, 5, 3);
    for (int i = 0; i < 5 * 3 * 3; ++i) {
      const int c = i % 3, x = i / 3 % 5 * factor, y = i / 15 * factor;
      int sum = 0;
      for (int k = 0; k < factor * factor; ++k) {
        const int at = ((y + k / factor) * image.width_px + x + k % factor) * 3 + c;
        sum += image.values[static_cast<std::size_t>(at)];
      }
      const int area = factor * factor;
      EXPECT_EQ(small.values[static_cast<std::size_t>(i)], (2 * sum + area) / (2 * area)) << factor;
    }
  }
}

TEST(AreaScale, RoundsHalvesUp) {
  EXPECT_EQ(area_scaled(filled(2, 1, 1, {0, 1}), 1, 1).values[0], 1);
  EXPECT_EQ(area_scaled(filled(2, 1, 1, {254, 255}), 1, 1).values[0], 255);
}

TEST(AreaScale, AveragesFractionsOfPixels) {
  // Each new pixel covers one and a half old ones.
  EXPECT_EQ(area_scaled(filled(3, 1, 1, {30, 60, 90}), 2, 1).values, (std::vector<std::uint8_t>{40, 80}));
  EXPECT_EQ(area_scaled(filled(1, 3, 1, {30, 60, 90}), 1, 2).values, (std::vector<std::uint8_t>{40, 80}));
}

TEST(AreaScale, PreservesTheMean) {
  const ByteImage image = random_image(137, 91, 1);
  const auto mean = [](const ByteImage& of) {
    double sum = 0;
    for (const std::uint8_t value : of.values) sum += value;
    return sum / static_cast<double>(of.values.size());
  };
  for (const int side : {90, 64, 33, 10}) {
    EXPECT_NEAR(mean(area_scaled(image, side, side)), mean(image), 0.1) << side;
  }
}

TEST(AreaScale, AgreesWithFloatImages) {
  Image values(151, 97, 3);
  const ByteImage bytes = random_image(151, 97, 3);
  for (std::size_t i = 0; i < values.values.size(); ++i) values.values[i] = bytes.values[i] / 255.0f;
  const Image expected = shrink_to(values, 60);
  const ByteImage small = area_scaled(bytes, expected.width_px, expected.height_px);
  for (std::size_t i = 0; i < small.values.size(); ++i) {
    EXPECT_NEAR(small.values[i], 255 * expected.values[i], 0.501);
  }
}

TEST(AreaScale, CanEnlarge) {
  EXPECT_EQ(area_scaled(filled(2, 1, 1, {10, 20}), 4, 2).values,
            (std::vector<std::uint8_t>{10, 10, 20, 20, 10, 10, 20, 20}));
  EXPECT_EQ(area_scaled(random_image(10, 10, 3), 11, 10).width_px, 11);
}

TEST(AreaScale, OriginalMayEndWithinTheLastPixel) {
  // Five pixels shrunk by 4: three quarters of the second pixel lie beyond the end of the original.
  const Extent original{.width_px = 5, .height_px = 4, .shrunk_by = 4};
  EXPECT_EQ(area_scaled(filled(2, 1, 1, {100, 200}), original, 1, 1).values[0], 120);
  EXPECT_EQ(area_scaled(filled(2, 1, 1, {100, 200}), original, 5, 1).values,
            (std::vector<std::uint8_t>{100, 100, 100, 100, 200}));
}

TEST(AreaScale, WeightsColoursByTheFourthChannel) {
  const ByteImage image = filled(2, 1, 4, {200, 0, 0, 0, 0, 100, 0, 255});
  EXPECT_EQ(area_scaled(image, 1, 1).values, (std::vector<std::uint8_t>{1, 100, 0, 128}));
  const ByteImage hidden = filled(2, 1, 4, {200, 0, 0, 0, 100, 0, 0, 0});  // keeps its colour
  EXPECT_EQ(area_scaled(hidden, 1, 1).values, (std::vector<std::uint8_t>{150, 0, 0, 0}));
  const ByteImage all = filled(2, 1, 4, {200, 0, 7, 255, 100, 0, 7, 255});
  EXPECT_EQ(area_scaled(all, 1, 1).values, (std::vector<std::uint8_t>{150, 0, 7, 255}));
}

TEST(AreaScale, DoesNotDependOnTheNumberOfThreads) {
  for (const int channels : {1, 3, 4}) {
    const ByteImage image = random_image(211, 173, channels);
    ByteImage one, two;
    with_threads(1, [&] { one = area_scaled(image, 101, 67); });
    with_threads(2, [&] { two = area_scaled(image, 101, 67); });
    EXPECT_EQ(one.values, two.values);
  }
}

}  // namespace
}  // namespace stipple
