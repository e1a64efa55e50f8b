// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/options/whole_number.h"

#include <fmt/format.h>

#include <charconv>

namespace stipple {

CLI::Validator whole_number(std::int64_t low, std::int64_t high) {
  return CLI::Validator(
      [=](const std::string& text) {
        std::int64_t value = 0;
        auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        bool is_good =
            error == std::errc() && end == text.data() + text.size() && low <= value && value <= high;
        return is_good ? std::string()
                       : fmt::format("'{}' is not a whole number from {} to {}", text, low, high);
      },
      high == INT64_MAX ? fmt::format("from {}", low) : fmt::format("{} to {}", low, high));
}

}  // namespace stipple
