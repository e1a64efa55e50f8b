// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <new>

#include "apps/stipple/commands.h"
#include "apps/stipple/terminal/message.h"
#include "apps/stipple/terminal/standard_files.h"
#include "stipple/core/error.h"
#include "stipple/core/nearest_name.h"
#include "stipple/ranks/launched_ranks.h"
#include "stipple/ranks/share_cores.h"

namespace stipple {
namespace {

constexpr int kFailed = 1, kMisused = 2;

constexpr const char* kFirstSteps =
    R"(Stipple turns photographs into a 3D scene that can be rendered from anywhere.

Start with these commands:
  stipple sfm photos/ -o scene/                 find out where the photos were taken (needs COLMAP),
                                                or "stipple synth -o scene/" for a built-in test scene
  stipple train scene/ -o run/ --eval           train a model and score it on held-out photos
  stipple view run/                             look at the model in a browser
  stipple render run/ --path orbit -o frames/   render a flight around the model

"stipple --help" lists all commands, and "stipple <command> --help" the options of a command.
)";

const CLI::App& chosen_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : *chosen.front();
}

// The command as a user types it, for "see stipple fit --help".
std::string name_of(const CLI::App& app) {
  const CLI::App& command = chosen_command(app);
  return &command == &app ? app.get_name() : app.get_name() + " " + command.get_name();
}

std::vector<std::string> long_flags(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  return flags;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

// The first argument that nothing expects, with the name that it was most likely meant to be.
std::string describe_unexpected(const CLI::App& app) {
  const std::vector<std::string> unexpected = app.remaining(true);
  if (unexpected.empty()) return "an argument was not expected";
  const std::string argument = unexpected.front().substr(0, unexpected.front().find('='));
  const bool is_flag = argument.starts_with("-");
  const bool is_command = !is_flag && app.get_subcommands().empty();
  const std::string nearest = is_flag      ? nearest_name(argument, long_flags(chosen_command(app)))
                              : is_command ? nearest_name(argument, command_names(app))
                                           : "";
  const std::string problem = is_flag      ? fmt::format("there is no option {}", argument)
                              : is_command ? fmt::format("there is no command '{}'", argument)
                                           : fmt::format("the argument '{}' was not expected", argument);
  return nearest.empty() ? problem : fmt::format("{}; did you mean {}?", problem, nearest);
}

// Of several processes that a launcher has started to train one model, the first speaks for all. The other
// commands know nothing of each other.
bool speaks_for_all(const CLI::App& app) {
  const std::optional<LaunchedProcess> launched = launched_process();
  return !launched || launched->rank == 0 || chosen_command(app).get_name() != "train";
}

int misused(const CLI::App& app, const std::string& problem) {
  if (speaks_for_all(app)) print_error(fmt::format("{} (see {} --help)", problem, name_of(app)));
  return kMisused;
}

int run(int argc, char** argv) {
  open_standard_files();
  share_cores();
  CLI::App app("3D Gaussian splatting: turn photographs into a 3D scene that can be rendered from anywhere",
               "stipple");
  app.set_help_flag("-h,--help", "print this help and exit");  // inherited by the commands
  app.set_version_flag("--version", "stipple " STIPPLE_VERSION, "print the version and exit");
  app.require_subcommand(0, 1);
  add_sfm(app);
  add_check(app);
  add_train(app);
  add_eval(app);
  add_render(app);
  add_view(app);
  add_export_html(app);
  add_compare(app);
  add_info(app);
  add_clean(app);
  add_compress(app);
  add_convert(app);
  add_fit(app);
  add_synth(app);
  add_devices(app);
  add_completion(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    const int status = app.exit(e);
    if (std::fflush(stdout) != 0) throw Error("cannot write to the standard output");
    return status;
  } catch (const CLI::ExtrasError&) {
    return misused(app, describe_unexpected(app));
  } catch (const CLI::ParseError& e) {
    return misused(app, e.what());
  } catch (const OptionError& e) {
    return misused(app, describe(e));
  }
  if (app.get_subcommands().empty()) {
    print("{}", kFirstSteps);
    return kMisused;
  }
  // The command has succeeded only if its results could be printed.
  if (output_was_lost() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw Error("cannot write to the standard output");
  return 0;
}

}  // namespace
}  // namespace stipple

int main(int argc, char** argv) try { return stipple::run(argc, argv); } catch (const std::bad_alloc&) {
  stipple::print_error("out of memory; use fewer Gaussians or smaller images");
  return stipple::kFailed;
} catch (const stipple::ReportedError&) {
  return stipple::kFailed;
} catch (const stipple::Error& e) {
  stipple::print_error(stipple::describe(e));
  return stipple::kFailed;
} catch (const std::exception& e) {
  stipple::print_error(e.what());
  return stipple::kFailed;
}
