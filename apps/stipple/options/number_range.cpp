// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/options/number_range.h"

#include <fmt/format.h>

namespace stipple {

CLI::Validator number_range(double low, double high) {
  return CLI::Validator(
      [=](const std::string& text) {
        double value = 0;
        const bool is_good = CLI::detail::lexical_cast(text, value) && low <= value && value <= high;
        return is_good ? std::string() : fmt::format("'{}' is not a number from {} to {}", text, low, high);
      },
      fmt::format("{} to {}", low, high));
}

}  // namespace stipple
