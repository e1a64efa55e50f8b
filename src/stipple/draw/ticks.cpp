// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>

#include "stipple/draw/plot.h"

namespace stipple {

namespace {

// The smallest of 1, 2, 5, 10 times a power of ten that is no smaller than `step`.
double nice_step(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= step * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

struct Unit {
  double size;
  const char* suffix;
};

Unit unit_for(double largest) {
  constexpr std::array<Unit, 3> kUnits = {{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const Unit& unit : kUnits)
    if (largest >= unit.size * (1 - 1e-9)) return unit;
  return {1, ""};
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int count) {
  assert(low <= high && count >= 1);
  const double largest = std::max(std::abs(low), std::abs(high));
  if (high - low <= 1e-9 * largest) {  // practically one value: use a range of its magnitude around it
    const double reach = largest == 0 ? 1 : largest * 0.1;
    low -= reach;
    high += reach;
  }
  const double step = nice_step((high - low) / count);
  const double first = std::floor(low / step + 1e-9), last = std::ceil(high / step - 1e-9);
  std::vector<double> ticks;
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  return ticks;
}

std::vector<std::string> tick_labels(const std::vector<double>& ticks) {
  assert(ticks.size() >= 2);
  const Unit unit = unit_for(std::max(std::abs(ticks.front()), std::abs(ticks.back())));
  const double step = (ticks[1] - ticks[0]) / unit.size;
  const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  std::vector<std::string> labels;
  for (const double tick : ticks)
    labels.push_back(tick == 0 ? "0" : fmt::format("{:.{}f}{}", tick / unit.size, digits, unit.suffix));
  return labels;
}

}  // namespace stipple
