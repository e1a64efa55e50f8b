// SPDX-License-Identifier: Apache-2.0
#pragma once
// Line charts, for looking at how training went.
#include <string>
#include <vector>

#include "stipple/image/image.h"

namespace stipple {

struct PlotSeries {
  enum class Style { kLine, kDots };
  std::string name;                  // in the legend; empty: not there
  std::vector<Vec2<double>> points;  // one that is not finite, or beyond 1e100, is left out
  Vec3f color{0, 0, 0};
  Style style = Style::kLine;
};

struct PlotOptions {
  std::string title, x_label;
  std::vector<PlotSeries> series;  // later ones on top
  int width_px = 720, height_px = 480;
};

Image plot(const PlotOptions& options);

// Colours for series that are told apart at a glance, on white; they repeat after eight.
Vec3f plot_color(std::size_t index);

// Multiples of 1, 2 or 5 times a power of ten, about `count` of them, the least range that holds low and
// high.
std::vector<double> nice_ticks(double low, double high, int count);

// The ticks as text, all in one unit and with as many digits as they need: "0.5", "20k", "1.5M".
std::vector<std::string> tick_labels(const std::vector<double>& ticks);

}  // namespace stipple
