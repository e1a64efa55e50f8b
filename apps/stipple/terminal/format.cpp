// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/terminal/format.h"

#include <fmt/format.h>

#include <cmath>

namespace stipple {

std::string format_bytes(std::size_t bytes) {
  const double mebibytes = static_cast<double>(bytes) / (1 << 20);
  if (bytes < 1 << 20) return fmt::format("{:.1f} KiB", mebibytes * 1024);
  return mebibytes < 1000 ? fmt::format("{:.0f} MiB", mebibytes)
                          : fmt::format("{:.1f} GiB", mebibytes / 1024);
}

std::string format_duration(double seconds) {
  if (seconds < 59.95) return fmt::format("{:.1f} s", seconds);
  int whole = static_cast<int>(seconds + 0.5);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string format_number(double value, int digits) {
  return std::isnan(value) ? "-" : fmt::format("{:.{}f}", value, digits);
}

}  // namespace stipple
