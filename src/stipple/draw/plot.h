// SPDX-License-Identifier: Apache-2.0
#pragma once
// Line charts that show how training progressed.
#include <string>
#include <vector>

#include "stipple/image/image.h"

namespace stipple {

struct PlotSeries {
  enum class Style { kLine, kDots };
  std::string name;                  // in the legend; empty means no entry
  std::vector<Vec2<double>> points;  // those not finite or beyond 1e100 are skipped
  Vec3f color{0, 0, 0};
  Style style = Style::kLine;
};

struct PlotOptions {
  std::string title, x_label;
  std::vector<PlotSeries> series;  // later ones are drawn on top
  int width_px = 720, height_px = 480;
};

Image plot(const PlotOptions& options);

// Colours for series that are easy to tell apart on white; they repeat after eight.
Vec3f plot_color(std::size_t index);

// About `count` multiples of 1, 2 or 5 times a power of ten, over the least range that contains low and high.
std::vector<double> nice_ticks(double low, double high, int count);

// The ticks as text, all in the same unit and with the decimal places they need: "0.5", "20k", "1.5M".
std::vector<std::string> tick_labels(const std::vector<double>& ticks);

}  // namespace stipple
