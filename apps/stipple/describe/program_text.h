// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the command says about itself, as plain text: its commands and their options, taken from CLI11's
// description of them. The completions and the man page are written from this, so a new option needs no
// further words.
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace stipple {

struct OptionText {
  std::vector<std::string> flags;  // as typed: "-o", "--output"; for a positional argument, its name alone
  std::string help;
  std::string group;                 // the heading under which --help lists it
  std::string value;                 // the kind of value, such as NUMBER; empty for a switch
  std::vector<std::string> choices;  // the values it accepts, if these are few
  std::string default_value;         // empty if there is none
  bool required = false;
  bool repeated = false;  // a positional argument that may be given several times

  // A text without choices and without a default is the name of a file or a folder.
  bool takes_file() const;
};

struct CommandText {
  std::string name;
  std::string help;
  std::vector<OptionText> options;
  std::vector<OptionText> positionals;
};

struct ProgramText {
  CommandText self;  // the program's own options
  std::string version;
  std::vector<CommandText> commands;
};

// Hidden commands and options, those in the group "", are left out.
ProgramText describe_program(const CLI::App& app);

// The help up to its first semicolon, for places that have one line.
std::string short_help(const std::string& help);

// The text with every character of `special` preceded by a backslash.
std::string escape(const std::string& text, const std::string& special);

// Shell scripts that complete the program's arguments, and its man page.
std::string bash_completion(const ProgramText& program);
std::string zsh_completion(const ProgramText& program);
std::string fish_completion(const ProgramText& program);
std::string man_page(const ProgramText& program);

}  // namespace stipple
