// SPDX-License-Identifier: Apache-2.0
// Completion for fish: one line for every command, option and argument.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/stipple/describe/program_text.h"

namespace stipple {

namespace {

std::string quoted(const std::string& text) { return fmt::format("'{}'", escape(text, "'\\")); }

std::string flags_of(const OptionText& option) {
  std::string flags;
  for (const std::string& flag : option.flags)
    flags += flag.starts_with("--") ? fmt::format(" -l {}", flag.substr(2))
                                    : fmt::format(" -s {}", flag.substr(1));
  return flags;
}

std::string value_of(const OptionText& option) {
  if (option.value.empty()) return "";
  if (!option.choices.empty())
    return fmt::format(" -x -a {}", quoted(fmt::format("{}", fmt::join(option.choices, " "))));
  return option.takes_file() ? " -r -F" : " -x";
}

std::string lines_of(const std::string& start, const CommandText& command) {
  std::string lines;
  for (const OptionText& option : command.options)
    lines += fmt::format("{}{}{} -d {}\n", start, flags_of(option), value_of(option),
                         quoted(short_help(option.help)));
  for (const OptionText& positional : command.positionals)
    lines +=
        positional.takes_file()
            ? fmt::format("{} -F\n", start)
            : fmt::format("{} -a {}\n", start, quoted(fmt::format("{}", fmt::join(positional.choices, " "))));
  return lines;
}

}  // namespace

std::string fish_completion(const ProgramText& program) {
  const std::string& name = program.self.name;
  std::string script = fmt::format(
      "# Completion of {0}'s arguments in fish, written by \"{0} completion fish\".\ncomplete -c {0} -f\n",
      name);
  const std::string start = fmt::format("complete -c {} -n __fish_use_subcommand", name);
  script += lines_of(start, program.self);
  for (const CommandText& command : program.commands)
    script += fmt::format("{} -a {} -d {}\n", start, command.name, quoted(command.help));
  for (const CommandText& command : program.commands)
    script += lines_of(fmt::format("complete -c {} -n '__fish_seen_subcommand_from {}'", name, command.name),
                       command);
  return script;
}

}  // namespace stipple
