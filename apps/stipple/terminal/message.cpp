// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/terminal/message.h"

#include <fmt/color.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "apps/stipple/options/option_flags.h"
#include "apps/stipple/terminal/standard_files.h"

namespace stipple {

namespace {

bool wants_color() {
  const char* no_color = std::getenv("NO_COLOR");
  return isatty(STDERR_FILENO) != 0 && (!no_color || *no_color == '\0');
}

std::string line(const char* label, fmt::color color, const std::string& message) {
  const std::string text = visible(message, false);
  if (!wants_color()) return fmt::format("{} {}\n", label, text);
  return fmt::format("{} {}\n", fmt::styled(label, fmt::emphasis::bold | fmt::fg(color)), text);
}

// "--a", "--a and --b", "--a, --b and --c"
std::string list_of_flags(const std::vector<std::string>& options) {
  std::string list;
  for (std::size_t i = 0; i < options.size(); ++i)
    list += (i == 0 ? "" : i + 1 < options.size() ? ", " : " and ") + flag_of(options[i]);
  return list;
}

}  // namespace

void print_error(const std::string& message) { write_error(line("stipple:", fmt::color::red, message)); }

void print_warning(const std::string& message) {
  write_message(line("warning:", fmt::color::orange, message));
}

std::string describe(const Error& error) {
  if (const auto* of_option = dynamic_cast<const OptionError*>(&error))
    return fmt::format("{} {}", flag_of(of_option->option()), of_option->problem());
  if (dynamic_cast<const NotAScene*>(&error))
    return fmt::format("{}; for a folder of photos, run \"stipple sfm\" first", error.what());
  if (error.options().empty()) return error.what();
  return fmt::format("{} (see {})", error.what(), list_of_flags(error.options()));
}

std::string advice_of(const SceneProblem& problem) {
  if (problem.options.empty()) return problem.advice;
  return fmt::format("{} See {}.", problem.advice, list_of_flags(problem.options));
}

}  // namespace stipple
