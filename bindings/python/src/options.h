// SPDX-License-Identifier: Apache-2.0
#pragma once
// Options as keyword arguments, with the names of the command's flags (_ for -), the same values and the same
// errors.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "bindings/python/src/bindings.h"
#include "stipple/options/option_text.h"
#include "stipple/options/run_options.h"

namespace stipple {

inline std::string option_text(const py::handle& value) {
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>() ? "true" : "false";
  if (py::isinstance<py::sequence>(value) && !py::isinstance<py::str>(value)) {
    std::string text;
    for (const py::handle part : value) text += (text.empty() ? "" : ",") + py::str(part).cast<std::string>();
    return text;
  }
  return py::str(value).cast<std::string>();
}

inline std::string python_name(const char* flag) {
  std::string name = flag;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// Sets the given options; for_each calls its argument with (flag, group, value, help) for every option.
// Raises TypeError for an unknown name.
template <class ForEach>
void take_options(const py::dict& given, ForEach for_each) {
  std::set<std::string> known;
  for_each([&](const char* flag, const char*, auto& value, const char*) {
    const std::string name = python_name(flag);
    known.insert(name);
    if (!given.contains(name.c_str())) return;
    if (const auto complaint = parse_option(option_text(given[name.c_str()]), value))
      throw py::value_error(fmt::format("{}: {}", name, *complaint));
  });
  for (const auto& item : given)
    if (const auto name = item.first.cast<std::string>(); !known.contains(name)) {
      std::string all;
      for (const std::string& one : known) all += (all.empty() ? "" : ", ") + one;
      throw py::type_error(fmt::format("there is no option '{}'; there are: {}", name, all));
    }
}

}  // namespace stipple
