// SPDX-License-Identifier: Apache-2.0
#include "stipple/image/ssim.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "stipple/core/parallel.h"

namespace stipple {
namespace {

Image random_image(int width, int height, int channels, unsigned seed) {
  std::mt19937 random(seed);
  Image image(width, height, channels);
  for (float& value : image.values) value = std::uniform_real_distribution<float>(-0.2f, 1.2f)(random);
  return image;
}

Image uniform_image(int width, int height, float value) {
  Image image(width, height, 1);
  std::fill(image.values.begin(), image.values.end(), value);
  return image;
}

// The textbook's double sum around one pixel, with variances about the means. Pixels outside are black.
double direct_ssim(const Image& a, const Image& b, int x, int y, int c) {
  const auto value = [&](const Image& image, int at_x, int at_y) {
    const bool inside = 0 <= at_x && at_x < image.width_px && 0 <= at_y && at_y < image.height_px;
    return inside ? std::min(std::max(static_cast<double>(image.at(at_x, at_y, c)), 0.0), 1.0) : 0.0;
  };
  const auto over_window = [&](const auto& f) {
    double sum = 0, total = 0;
    for (int dy = -5; dy <= 5; ++dy)
      for (int dx = -5; dx <= 5; ++dx) {
        const double w = std::exp(-(dx * dx + dy * dy) / (2 * 1.5 * 1.5));
        sum += w * f(value(a, x + dx, y + dy), value(b, x + dx, y + dy));
        total += w;
      }
    return sum / total;
  };
  const double ma = over_window([](double p, double) { return p; });
  const double mb = over_window([](double, double q) { return q; });
  const double va = over_window([&](double p, double) { return (p - ma) * (p - ma); });
  const double vb = over_window([&](double, double q) { return (q - mb) * (q - mb); });
  const double covariance = over_window([&](double p, double q) { return (p - ma) * (q - mb); });
  return (2 * ma * mb + 1e-4) * (2 * covariance + 9e-4) / ((ma * ma + mb * mb + 1e-4) * (va + vb + 9e-4));
}

// The mean of direct_ssim over all pixels at least `margin` from the edge.
double direct_mean(const Image& a, const Image& b, int margin, const std::vector<std::uint8_t>& weight = {}) {
  double sum = 0, count = 0;
  for (int y = margin; y < a.height_px - margin; ++y)
    for (int x = margin; x < a.width_px - margin; ++x)
      for (int c = 0; c < a.channel_count; ++c) {
        const double w = weight.empty() ? 1 : weight[static_cast<std::size_t>(y) * a.width_px + x];
        sum += w * direct_ssim(a, b, x, y, c);
        count += w;
      }
  return sum / count;
}

TEST(Ssim, EqualsTheDirectSumOverInteriorWindows) {
  for (const int channels : {1, 3}) {
    const Image a = random_image(23, 17, channels, 1), b = random_image(23, 17, channels, 2);
    EXPECT_NEAR(ssim(a, b), direct_mean(a, b, 5), 1e-9);
  }
  const Image a = random_image(11, 11, 3, 1), b = random_image(11, 11, 3, 2);
  EXPECT_NEAR(ssim(a, b), direct_mean(a, b, 5), 1e-9) << "one window";
}

TEST(Ssim, PadsSmallImagesWithBlack) {
  for (const auto& [width, height] : {std::pair(10, 30), {30, 10}, {1, 1}, {4, 3}}) {
    const Image a = random_image(width, height, 3, 1), b = random_image(width, height, 3, 2);
    EXPECT_NEAR(ssim(a, b), direct_mean(a, b, 0), 1e-9) << width << " x " << height;
  }
}

TEST(Ssim, WeightsWindowsByTheirCentre) {
  for (const int size : {20, 9}) {
    const Image a = random_image(size, size, 3, 1), b = random_image(size, size, 3, 2);
    std::vector<std::uint8_t> weight(a.pixel_count());
    for (std::size_t i = 0; i < weight.size(); ++i) weight[i] = static_cast<std::uint8_t>(i * 37 % 256);
    EXPECT_NEAR(ssim(a, b, weight), direct_mean(a, b, size > 11 ? 5 : 0, weight), 1e-9);
  }
}

TEST(Ssim, IsNanIfAllWeightsAreZero) {
  const Image a = random_image(20, 20, 3, 1);
  EXPECT_TRUE(std::isnan(ssim(a, a, std::vector<std::uint8_t>(400, 0))));
}

TEST(Ssim, OfAnImageWithItselfIsOne) {
  const Image a = random_image(40, 30, 3, 1);
  EXPECT_NEAR(ssim(a, a), 1, 1e-12);
  EXPECT_NEAR(ssim(uniform_image(40, 30, 1), uniform_image(40, 30, 7)), 1, 1e-12) << "clamped";
}

TEST(Ssim, OfUniformImagesIsTheLuminanceTerm) {
  EXPECT_NEAR(ssim(uniform_image(16, 16, 0), uniform_image(16, 16, 1)), 1e-4 / (1 + 1e-4), 1e-9);
  const double expected = (2 * 0.25 * 0.75 + 1e-4) / (0.25 * 0.25 + 0.75 * 0.75 + 1e-4);
  EXPECT_NEAR(ssim(uniform_image(16, 16, 0.25f), uniform_image(16, 16, 0.75f)), expected, 1e-9);
}

TEST(Ssim, DoesNotDependOnTheNumberOfThreads) {
  const Image a = random_image(101, 97, 3, 1), b = random_image(101, 97, 3, 2);
  const double expected = ssim(a, b);
  for (const int threads : {1, 2, 5})
    with_threads(threads, [&] { EXPECT_EQ(ssim(a, b), expected) << threads << " threads"; });
}

}  // namespace
}  // namespace stipple
