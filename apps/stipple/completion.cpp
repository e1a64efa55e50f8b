// SPDX-License-Identifier: Apache-2.0
// stipple completion: a script that completes the arguments of this command in a shell, or its man page.
#include <map>
#include <memory>
#include <string>

#include "apps/stipple/commands.h"
#include "apps/stipple/describe/program_text.h"
#include "apps/stipple/terminal/standard_files.h"

namespace stipple {

void add_completion(CLI::App& app) {
  using Writer = std::string (*)(const ProgramText&);
  static const std::map<std::string, Writer> kWriters = {
      {"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}, {"man", man_page}};
  auto form = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand(
      "completion", "Print a script that completes the arguments of stipple in a shell, or the man page");
  command->add_option("form", *form, "the shell, or man for the man page")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish", "man"}));
  command->callback([form, &app] { print("{}", kWriters.at(*form)(describe_program(app))); });
}

}  // namespace stipple
