// SPDX-License-Identifier: Apache-2.0
#pragma once
// Flags of the command, generated from the lists of options in options/run_options.h and backend/view.h. The
// values are kept as text, so that resolve() can combine them with values from elsewhere.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include "stipple/options/option_text.h"
#include "stipple/options/resolve.h"

namespace stipple {

// An option as the command spells it: max_gaussians is --max-gaussians.
inline std::string flag_of(std::string_view option) {
  std::string flag = fmt::format("--{}", option);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

// The type that --help shows, with the choices where these are few.
template <class T>
std::string type_of(const T& value) {
  if constexpr (std::is_arithmetic_v<T>)
    return "NUMBER";
  else if constexpr (std::is_enum_v<T>)
    return fmt::format("TEXT:{{{}}}", fmt::join(choices_of(value), ","));
  else
    return "TEXT";
}

// Adds the flag of an option; `given` must outlive the parsing. Text that is not a value of T is refused
// during parsing.
template <class T>
void add_option_flag(CLI::App& command, const char* name, const char* group, const T& default_value,
                     const char* help, OptionTexts& given) {
  const std::string flag = flag_of(name);
  if constexpr (std::is_same_v<T, bool>) {
    // An option that is on by default, or in the options of an earlier run, is turned off with --no-NAME.
    const auto take = [&given, name](std::int64_t count) { given[name] = count > 0 ? "true" : "false"; };
    command.add_flag_function(fmt::format("{},!--no-{}", flag, flag.substr(2)), take, help)->group(group);
  } else {
    const auto take = [&given, name, flag](const std::string& text) {
      T parsed{};
      if (const auto problem = parse_option(text, parsed))
        throw CLI::ValidationError(fmt::format("{} {}", flag, *problem));
      given[name] = text;
    };
    command.add_option_function<std::string>(flag, take, help)
        ->type_name(type_of(default_value))
        ->default_str(to_text(default_value))
        ->group(group);
  }
}

template <class T>
void apply_flag(const OptionTexts& given, const char* name, T& value) {
  const auto found = given.find(name);
  if (found != given.end()) parse_option(found->second, value);
}

}  // namespace stipple
