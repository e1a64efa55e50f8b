// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>

namespace stipple {

// The number in a path such as "/photo/3", behind "/photo/"; nothing if the path has another form.
inline std::optional<std::size_t> path_number(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return {};
  path.remove_prefix(prefix.size());
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), number);
  if (path.empty() || error != std::errc() || end != path.data() + path.size()) return {};
  return number;
}

}  // namespace stipple
