// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a launcher tells the processes that it starts.
#include <cstdlib>
#include <optional>

namespace stipple {

// Empty if there is no such variable, or it is no whole number from 0 to a million.
inline std::optional<int> number_in_environment(const char* name) {
  const char* const text = std::getenv(name);
  if (!text) return {};
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || value < 0 || value > 1'000'000) return {};
  return static_cast<int>(value);
}

}  // namespace stipple
