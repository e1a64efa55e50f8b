// SPDX-License-Identifier: Apache-2.0
#pragma once
// The options of a run as keyword arguments: names, values and errors are those of options/run_options.h.
#include <fmt/format.h>

#include <string>

#include "bindings/python/src/bindings.h"
#include "stipple/core/error.h"
#include "stipple/options/resolve.h"

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

inline GivenOptions given_in_python(const py::dict& given) {
  GivenOptions options;
  for (const auto& item : given) {
    const auto name = item.first.cast<std::string>();
    (name == "preset" ? options.preset : options.given[name]) = option_text(item.second);
  }
  return options;
}

}  // namespace stipple
