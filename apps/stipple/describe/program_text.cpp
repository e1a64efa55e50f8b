// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/describe/program_text.h"

namespace stipple {

namespace {

// Takes the list apart that CLI::IsMember writes behind the type, as in "TEXT:{colmap,transforms}".
std::vector<std::string> choices_in(const std::string& type) {
  const std::size_t open = type.find('{'), close = type.find('}');
  if (open == type.npos || close == type.npos || close < open) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

OptionText describe_option(const CLI::Option& option) {
  OptionText text;
  text.help = option.get_description();
  text.group = option.get_group();
  text.required = option.get_required();
  text.repeated = option.get_items_expected_max() > 1;
  text.default_value = option.get_default_str();
  if (option.get_items_expected_max() > 0) {
    const std::string type = option.get_type_name();
    text.value = type.substr(0, type.find(':'));
    text.choices = choices_in(type);
  }
  if (option.get_positional()) {
    text.flags = {option.get_name(true)};
    return text;
  }
  for (const std::string& name : option.get_snames()) text.flags.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.flags.push_back("--" + name);
  return text;
}

CommandText describe_command(const CLI::App& app) {
  CommandText text{app.get_name(), app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? text.positionals : text.options).push_back(describe_option(*option));
  }
  return text;
}

}  // namespace

bool OptionText::takes_file() const { return value == "TEXT" && choices.empty() && default_value.empty(); }

ProgramText describe_program(const CLI::App& app) {
  ProgramText program{describe_command(app), app.version(), {}};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) program.commands.push_back(describe_command(*command));
  return program;
}

std::string short_help(const std::string& help) { return help.substr(0, help.find(';')); }

std::string escape(const std::string& text, const std::string& special) {
  std::string escaped;
  for (const char c : text) {
    if (special.find(c) != special.npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

}  // namespace stipple
