// SPDX-License-Identifier: Apache-2.0
#include "stipple/draw/plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace stipple {
namespace {

using Labels = std::vector<std::string>;

// The number of pixels that have this colour.
int count(const Image& image, Vec3f color) {
  int n = 0;
  for (int y = 0; y < image.height_px; ++y)
    for (int x = 0; x < image.width_px; ++x) {
      const Vec3f d = color - Vec3f(image.at(x, y, 0), image.at(x, y, 1), image.at(x, y, 2));
      n += dot(d, d) < 1e-6f;
    }
  return n;
}

TEST(Plot, TicksAreRoundNumbers) {
  EXPECT_EQ(nice_ticks(0, 10, 5), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(nice_ticks(17.3, 31.2, 5), (std::vector<double>{15, 20, 25, 30, 35}));
  EXPECT_EQ(nice_ticks(0, 30000, 6), (std::vector<double>{0, 5000, 10000, 15000, 20000, 25000, 30000}));
  EXPECT_EQ(nice_ticks(-1, 1, 4), (std::vector<double>{-1, -0.5, 0, 0.5, 1}));
}

TEST(Plot, TicksCoverTheRange) {
  for (double low : {-3e5, -0.7, 0.0, 1e-7, 12.0})
    for (double size : {1e-6, 0.3, 1.0, 99.0, 7e8})
      for (int n : {1, 3, 8}) {
        const std::vector<double> ticks = nice_ticks(low, low + size, n);
        const double tolerance = 1e-6 * (ticks[1] - ticks[0]);
        EXPECT_LE(ticks.front(), low + tolerance);
        EXPECT_GE(ticks.back(), low + size - tolerance);
        EXPECT_LE(ticks.size(), static_cast<std::size_t>(n) + 2);
      }
}

TEST(Plot, SingleValueGetsARangeAroundIt) {
  for (double value : {0.0, -4.0, 25.5, 1e20}) {
    const std::vector<double> ticks = nice_ticks(value, value + std::abs(value) * 1e-15, 4);
    EXPECT_LT(ticks.front(), value);
    EXPECT_GT(ticks.back(), value);
    EXPECT_LT(ticks.size(), 8u);
  }
}

TEST(Plot, LabelsShareAUnit) {
  EXPECT_EQ(tick_labels({0, 5000, 10000}), (Labels{"0", "5k", "10k"}));
  EXPECT_EQ(tick_labels({500'000, 1'000'000, 1'500'000}), (Labels{"0.5M", "1.0M", "1.5M"}));
  EXPECT_EQ(tick_labels({-0.2, 0, 0.2}), (Labels{"-0.2", "0", "0.2"}));
  EXPECT_EQ(tick_labels({15, 20}), (Labels{"15", "20"}));
  EXPECT_EQ(tick_labels({0.95, 1}), (Labels{"0.95", "1.00"}));
}

TEST(Plot, DrawsEverySeries) {
  PlotOptions options{"title", "x", {}};
  options.series.push_back({"line", {{0, 0}, {10, 10}}, plot_color(0)});
  options.series.push_back({"dots", {{5, 2}}, plot_color(1), PlotSeries::Style::kDots});
  const Image image = plot(options);
  EXPECT_EQ(image.width_px, options.width_px);
  EXPECT_EQ(image.height_px, options.height_px);
  EXPECT_GT(count(image, plot_color(0)), 50);
  EXPECT_GT(count(image, plot_color(1)), 50);
  EXPECT_GT(count(image, {1, 1, 1}), 200'000) << "the background is white";
}

TEST(Plot, SkipsNonFinitePoints) {
  const double inf = std::numeric_limits<double>::infinity();
  PlotOptions options{
      "", "", {{"", {{0, 1}, {1, inf}, {NAN, 2}, {2, 1e308}, {2, -1e308}, {3, 2}}, plot_color(0)}}};
  EXPECT_EQ(count(plot(options), plot_color(0)), 0) << "no two neighbours are finite";
  options.series[0].style = PlotSeries::Style::kDots;
  EXPECT_GT(count(plot(options), plot_color(0)), 2 * 20);
}

TEST(Plot, NoSeriesGiveAnEmptyChart) { EXPECT_EQ(plot({}).width_px, PlotOptions().width_px); }

TEST(Plot, ColoursDiffer) {
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const Vec3f d = plot_color(i) - plot_color(j);
      EXPECT_GT(dot(d, d), 0.04f) << i << ' ' << j;
    }
}

}  // namespace
}  // namespace stipple
