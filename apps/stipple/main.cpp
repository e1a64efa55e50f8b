// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdio>
#include <new>

#include "apps/stipple/commands.h"
#include "stipple/core/error.h"

namespace stipple {
namespace {

constexpr int kFailed = 1, kMisused = 2;

// The command whose arguments were being read, for "see stipple fit --help".
std::string name_of_command(const CLI::App& app) {
  auto chosen = app.get_subcommands();
  return chosen.empty() ? app.get_name() : app.get_name() + " " + chosen.front()->get_name();
}

int run(int argc, char** argv) {
  CLI::App app("3D Gaussian splatting: photographs to a scene that can be rendered from anywhere", "stipple");
  app.set_version_flag("--version", "stipple " STIPPLE_VERSION);
  app.require_subcommand(0, 1);
  add_sfm(app);
  add_check(app);
  add_fit(app);
  add_render(app);
  add_eval(app);
  add_compare(app);
  add_info(app);
  add_devices(app);
  add_synth(app);
  add_train(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {  // --help, --version
    int status = app.exit(e);
    if (std::fflush(stdout) != 0) throw Error("cannot write to the standard output");
    return status;
  } catch (const CLI::ParseError& e) {
    fmt::print(stderr, "stipple: {} (see {} --help)\n", e.what(), name_of_command(app));
    return kMisused;
  }
  if (app.get_subcommands().empty()) {
    fmt::print("{}", app.help());
    return kMisused;
  }
  // What was printed is a result too.
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
    throw Error("cannot write to the standard output");
  return 0;
}

}  // namespace
}  // namespace stipple

int main(int argc, char** argv) try { return stipple::run(argc, argv); } catch (const std::bad_alloc&) {
  fmt::print(stderr, "stipple: out of memory: use fewer Gaussians or a smaller picture\n");
  return stipple::kFailed;
} catch (const std::exception& e) {
  fmt::print(stderr, "stipple: {}\n", e.what());
  return stipple::kFailed;
}
