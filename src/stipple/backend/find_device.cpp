// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/find_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/io/text.h"

namespace stipple {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Independent of the locale. Letters other than A to Z count as they are written.
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_same_letter(char a, char b) { return lower(a) == lower(b); }

bool is_same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), is_same_letter);
}

template <class Condition>
std::vector<std::size_t> indices_of(std::span<const std::string> names, Condition condition) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (condition(names[i])) found.push_back(i);
  return found;
}

std::size_t find_by_number(std::string_view backend, std::span<const std::string> names,
                           std::string_view wanted) {
  std::size_t index = 0;
  if (parse_whole(wanted, index) && index < names.size()) return index;
  throw Error(
      fmt::format("there is no {} device {}; available are {}", backend, wanted, numbered_names(names)));
}

std::size_t find_by_name(std::string_view backend, std::span<const std::string> names,
                         std::string_view wanted) {
  const auto whole = indices_of(names, [&](const std::string& name) { return is_same_name(name, wanted); });
  const auto parts = indices_of(names, [&](const std::string& name) { return has_in_name(name, wanted); });
  if (whole.size() == 1) return whole[0];
  if (parts.size() == 1) return parts[0];
  if (parts.empty())
    throw Error(fmt::format("there is no {} device with '{}' in its name; available are {}", backend, wanted,
                            numbered_names(names)));
  throw Error(fmt::format("there are {} {} devices with '{}' in their names; choose by number from {}",
                          parts.size(), backend, wanted, numbered_names(names)));
}

}  // namespace

bool is_device_name(std::string_view wanted) {
  return !wanted.empty() && !std::all_of(wanted.begin(), wanted.end(), is_digit);
}

bool has_in_name(std::string_view name, std::string_view part) {
  return std::search(name.begin(), name.end(), part.begin(), part.end(), is_same_letter) != name.end();
}

std::size_t find_device(std::string_view backend, std::span<const std::string> names,
                        std::string_view wanted) {
  if (wanted.empty())
    throw Error(fmt::format("the device must be a number or a part of a name; the {} devices are {}", backend,
                            numbered_names(names)));
  return is_device_name(wanted) ? find_by_name(backend, names, wanted)
                                : find_by_number(backend, names, wanted);
}

std::string numbered_names(std::span<const std::string> names) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i)
    list += fmt::format("{}{}: {}", i == 0 ? "" : ", ", i, names[i]);
  return list;
}

}  // namespace stipple
