// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/convert/format_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "apps/stipple/options/option_flags.h"
#include "apps/stipple/options/whole_number.h"
#include "stipple/core/error.h"
#include "stipple/options/model_options.h"

namespace stipple {

namespace {

constexpr const char* kAntialiased = "antialiased";
constexpr const char* kFrameOfInputs = "from_spz_frame";
constexpr std::string_view kSpz = "SPZ";
constexpr const char* kGroup = "Formats (antialiased by default if the first input says so)";

}  // namespace

bool FormatFlags::gives_antialiased() const { return given.contains(kAntialiased); }
bool FormatFlags::gives_frame_of_inputs() const { return given.contains(kFrameOfInputs); }

void add_format_flags(CLI::App& command, FormatFlags& f) {
  const SaveModelOptions defaults;
  for_each_save_option(defaults, [&](const char* name, const auto& value, const char* help) {
    add_option_flag(command, name, kGroup, value, help, f.given);
  });
  command.get_option("--spz-version")->check(whole_number(2, 4));
  add_option_flag(command, kFrameOfInputs, kGroup, LoadModelOptions().spz_frame,
                  "frame of .spz inputs that do not say it: rdf if the model is upside down otherwise",
                  f.given);
}

void check_flags_of_output(const FormatFlags& f, const std::string& output) {
  const std::string_view format = check_model_name(output);
  if (format.starts_with(kSpz)) return;
  for (const char* name : {"spz_version", "spz_frame"})
    if (f.given.contains(name))
      throw OptionError(name, fmt::format("is for an .spz, but {} is written as {}", output, format));
}

void check_flags_of_inputs(const FormatFlags& f, const std::vector<std::string>& formats) {
  const auto is_spz = [](const std::string& format) { return format.starts_with(kSpz); };
  if (f.gives_frame_of_inputs() && std::none_of(formats.begin(), formats.end(), is_spz))
    throw OptionError(kFrameOfInputs,
                      fmt::format("is for .spz inputs, but there is only {}", fmt::join(formats, " and ")));
}

LoadModelOptions load_options(const FormatFlags& f) {
  LoadModelOptions options;
  apply_flag(f.given, kFrameOfInputs, options.spz_frame);
  return options;
}

SaveModelOptions save_options(const FormatFlags& f, bool antialiased) {
  SaveModelOptions options;
  options.antialiased = antialiased;
  for_each_save_option(options,
                       [&](const char* name, auto& value, const char*) { apply_flag(f.given, name, value); });
  return options;
}

}  // namespace stipple
