// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

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

// The numbers in a path such as "/lod/0/17/2", behind "/lod/"; none if the path has another form.
inline std::vector<std::size_t> path_numbers(std::string_view path, std::string_view prefix) {
  if (!path.starts_with(prefix)) return {};
  path.remove_prefix(prefix.size());
  std::vector<std::size_t> numbers;
  for (;;) {
    const std::size_t end = path.find('/');
    const std::optional<std::size_t> number = path_number(path.substr(0, end), "");
    if (!number) return {};
    numbers.push_back(*number);
    if (end == std::string_view::npos) return numbers;
    path.remove_prefix(end + 1);
  }
}

}  // namespace stipple
