// SPDX-License-Identifier: Apache-2.0
// The man page: one for all commands, so that it can be searched for an option.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "apps/stipple/describe/program_text.h"

namespace stipple {

namespace {

// Text for troff: its escape character, minus signs as typed in a shell, and lines that are no requests.
std::string troff(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\')
      escaped += "\\e";
    else if (c == '-')
      escaped += "\\-";
    else
      escaped += c;
  }
  if (escaped.starts_with('.') || escaped.starts_with('\'')) escaped.insert(0, "\\&");
  return escaped;
}

std::string bold(const std::string& text) { return fmt::format("\\fB{}\\fR", troff(text)); }
std::string italic(const std::string& text) { return fmt::format("\\fI{}\\fR", troff(text)); }

std::string value_of(const OptionText& option) {
  if (option.value.empty()) return "";
  if (option.choices.empty()) return " " + italic(option.value);
  std::vector<std::string> choices;
  for (const std::string& choice : option.choices) choices.push_back(bold(choice));
  return fmt::format(" {}", fmt::join(choices, "|\\:"));  // a line may end there
}

std::string paragraph_of(const OptionText& option) {
  std::vector<std::string> flags;
  for (const std::string& flag : option.flags) flags.push_back(bold(flag));
  std::string text =
      fmt::format(".TP\n{}{}\n{}", fmt::join(flags, ", "), value_of(option), troff(option.help));
  if (!option.default_value.empty()) text += fmt::format(" [{}]", troff(option.default_value));
  if (option.required) text += " (required)";
  return text + "\n";
}

std::string synopsis_of(const std::string& program, const CommandText& command) {
  std::string text = fmt::format("{} [{}]", bold(program + " " + command.name), italic("OPTIONS"));
  for (const OptionText& positional : command.positionals) {
    const std::string name = italic(positional.flags.front()) + (positional.repeated ? "..." : "");
    text += positional.required ? " " + name : fmt::format(" [{}]", name);
  }
  return text;
}

// The options under the headings of --help.
std::string options_of(const CommandText& command) {
  std::vector<std::string> groups;
  for (const OptionText& option : command.options)
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  std::string text;
  for (const std::string& group : groups) {
    if (group != "Options") text += fmt::format(".PP\n{}\n", troff(group + ":"));
    for (const OptionText& option : command.options)
      if (option.group == group) text += paragraph_of(option);
  }
  return text;
}

std::string section_of(const std::string& program, const CommandText& command) {
  std::string text = fmt::format(".SS {} {}\n{}\n.PP\n{}.\n", program, command.name,
                                 synopsis_of(program, command), troff(command.help));
  for (const OptionText& positional : command.positionals)
    text += fmt::format(".TP\n{}\n{}\n", italic(positional.flags.front()), troff(positional.help));
  return text + options_of(command);
}

constexpr const char* kEnd = R"(.SH EXIT STATUS
.TP
.B 0
The command succeeded.
.TP
.B 1
It failed; the reason is the last line on the standard error.
.TP
.B 2
The arguments were wrong.
.SH ENVIRONMENT
.TP
.B NO_COLOR
If this is set, errors and progress are not coloured.
.SH SEE ALSO
.BR colmap (1),
.BR ffmpeg (1)
)";

}  // namespace

std::string man_page(const ProgramText& program) {
  const std::string& name = program.self.name;
  const std::string& help = program.self.help;
  std::string upper = name;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
  std::string page = fmt::format(
      ".TH {} 1 \"\" \"{}\" \"User Commands\"\n.nh\n.ad l\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n{} {} [{}]\n",
      upper, program.version, name, troff(help.substr(0, help.find(':'))), bold(name), italic("COMMAND"),
      italic("OPTIONS"));
  page += fmt::format(".SH DESCRIPTION\n{}.\n.SH OPTIONS\n{}.SH COMMANDS\n", troff(help),
                      options_of(program.self));
  for (const CommandText& command : program.commands) page += section_of(name, command);
  return page + kEnd;
}

}  // namespace stipple
