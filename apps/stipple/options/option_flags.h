// SPDX-License-Identifier: Apache-2.0
#pragma once
// Flags of the command from a list of options (options/run_options.h, backend/view.h). What was given is kept
// as text, so that it can be put over values that come from elsewhere.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <string>

#include "stipple/options/option_text.h"

namespace stipple {

using GivenFlags = std::map<std::string, std::string>;  // text by flag, without --

// `given` must outlive the parsing. A text that is no value of T is complained about right away.
template <class T>
void add_option_flag(CLI::App& command, const char* flag, const char* group, const T& standard,
                     const char* help, GivenFlags& given) {
  const std::string name = fmt::format("--{}", flag);
  const auto take = [&given, flag](const std::string& text) {
    T parsed{};
    if (const auto complaint = parse_option(text, parsed))
      throw CLI::ValidationError(fmt::format("--{}: {}", flag, *complaint));
    given[flag] = text;
  };
  if constexpr (std::is_same_v<T, bool>) {
    command
        .add_flag_callback(
            name, [&given, flag] { given[flag] = "true"; }, help)
        ->group(group);
  } else {
    command.add_option_function<std::string>(name, take, help)
        ->type_name(std::is_arithmetic_v<T> ? "NUMBER" : "TEXT")
        ->default_str(to_text(standard))
        ->group(group);
  }
}

template <class T>
void apply_flag(const GivenFlags& given, const char* flag, T& value) {
  const auto found = given.find(flag);
  if (found != given.end()) parse_option(found->second, value);
}

}  // namespace stipple
