// SPDX-License-Identifier: Apache-2.0
// Completion for zsh, with its function _arguments.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/stipple/describe/program_text.h"

namespace stipple {

namespace {

// For use between single quotes.
std::string in_quotes(const std::string& text) {
  std::string quoted;
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted;
}

std::string value_of(const OptionText& option) {
  if (!option.choices.empty()) return fmt::format("({})", fmt::join(option.choices, " "));
  return option.takes_file() ? "_files" : " ";
}

// The same word for every flag of an option, each of which excludes the others.
void add_words(const OptionText& option, std::vector<std::string>& words) {
  const std::string help = in_quotes(escape(short_help(option.help), "[]:\\"));
  const std::string exclusion =
      option.flags.size() > 1 ? fmt::format("({})", fmt::join(option.flags, " ")) : "";
  for (const std::string& flag : option.flags) {
    // After a long option the value may be a word of its own or follow an equals sign.
    const char* separator = option.value.empty() ? "" : flag.starts_with("--") ? "=" : "";
    const std::string value =
        option.value.empty() ? "" : fmt::format(":{}:{}", option.value, value_of(option));
    words.push_back(fmt::format("'{}{}{}[{}]{}'", exclusion, flag, separator, help, value));
  }
}

std::string arguments_of(const CommandText& command) {
  std::vector<std::string> words;
  for (const OptionText& option : command.options) add_words(option, words);
  for (std::size_t i = 0; i < command.positionals.size(); ++i) {
    const OptionText& positional = command.positionals[i];
    const std::string place = positional.repeated ? "*" : fmt::format("{}", i + 1);
    words.push_back(fmt::format("'{}:{}:{}'", place, positional.flags.front(), value_of(positional)));
  }
  return fmt::format("        {})\n          _arguments \\\n            {}\n          ;;\n", command.name,
                     fmt::join(words, " \\\n            "));
}

constexpr const char* kBegin = R"(#compdef {0}
# Completion of {0}'s arguments in zsh, written by "{0} completion zsh".
_{0}() {{
  local state line
  local -a commands
  commands=(
{1}  )
  _arguments -C \
    {2} \
    '1:command:->command' \
    '*::argument:->argument'
  case $state in
    command) _describe command commands ;;
    argument)
      case $words[1] in
{3}      esac
      ;;
  esac
}}
if [[ $funcstack[1] == _{0} ]]; then _{0} "$@"; else compdef _{0} {0}; fi
)";

}  // namespace

std::string zsh_completion(const ProgramText& program) {
  std::string commands, cases;
  for (const CommandText& command : program.commands) {
    commands += fmt::format("    '{}:{}'\n", command.name, in_quotes(escape(command.help, ":\\")));
    cases += arguments_of(command);
  }
  std::vector<std::string> words;
  for (const OptionText& option : program.self.options) add_words(option, words);
  return fmt::format(kBegin, program.self.name, commands, fmt::join(words, " \\\n    "), cases);
}

}  // namespace stipple
