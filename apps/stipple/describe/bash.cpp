// SPDX-License-Identifier: Apache-2.0
// Completion for bash. The script needs no other: neither the package bash-completion nor the program itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "apps/stipple/describe/program_text.h"

namespace stipple {

namespace {

constexpr const char* kBegin = R"(# Completion of {0}'s arguments in bash, written by "{0} completion bash".
_{0}() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} previous=${{COMP_WORDS[COMP_CWORD - 1]}}
  local command= options= choices= i
  COMPREPLY=()
  # bash takes --option=value for three words.
  if [[ $word == = ]]; then
    word=
  elif [[ $previous == = && $COMP_CWORD -ge 2 ]]; then
    previous=${{COMP_WORDS[COMP_CWORD - 2]}}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${{COMP_WORDS[i]}} != -* ]]; then
      command=${{COMP_WORDS[i]}}
      break
    fi
  done
  case $command in
)";

constexpr const char* kEnd = R"(  esac
  if [[ $word == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  elif [[ $choices ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
  elif [[ $command ]]; then
    compopt -o filenames 2>/dev/null  # fails where no completion is going on, as in a test
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}}
complete -F _{0} {0}
)";

std::string all_flags(const CommandText& command) {
  std::vector<std::string> flags;
  for (const OptionText& option : command.options)
    flags.insert(flags.end(), option.flags.begin(), option.flags.end());
  return fmt::format("{}", fmt::join(flags, " "));
}

// What may follow an option that takes a value: some words, nothing, or (by what follows in the script) a
// file.
std::string after_options(const CommandText& command) {
  std::string lines;
  for (const OptionText& option : command.options) {
    if (option.value.empty() || option.takes_file()) continue;
    const std::string patterns = fmt::format("{}", fmt::join(option.flags, " | "));
    lines += option.choices.empty()
                 ? fmt::format("        {}) return ;;\n", patterns)
                 : fmt::format("        {}) choices=\"{}\" ;;\n", patterns, fmt::join(option.choices, " "));
  }
  return lines.empty() ? "" : fmt::format("      case $previous in\n{}      esac\n", lines);
}

std::string case_of(const CommandText& command) {
  std::string choices;
  for (const OptionText& positional : command.positionals)
    if (!positional.choices.empty()) choices = fmt::format("{}", fmt::join(positional.choices, " "));
  return fmt::format("    {})\n      options=\"{}\"\n      choices=\"{}\"\n{}      ;;\n", command.name,
                     all_flags(command), choices, after_options(command));
}

}  // namespace

std::string bash_completion(const ProgramText& program) {
  std::vector<std::string> names;
  for (const CommandText& command : program.commands) names.push_back(command.name);
  std::string script = fmt::format(kBegin, program.self.name);
  script += fmt::format("    '')\n      options=\"{}\"\n      choices=\"{}\"\n      ;;\n",
                        all_flags(program.self), fmt::join(names, " "));
  for (const CommandText& command : program.commands) script += case_of(command);
  return script + fmt::format(kEnd, program.self.name);
}

}  // namespace stipple
