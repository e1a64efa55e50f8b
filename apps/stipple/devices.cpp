// SPDX-License-Identifier: Apache-2.0
// stipple devices: what this build can use on this machine.
#include <fmt/format.h>

#include "apps/stipple/commands.h"
#include "stipple/backend/backend.h"

namespace stipple {

void add_devices(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "List the backends that this build can use here");
  command->callback([] {
    for (const std::string& name : backend_names()) {
      const std::string why = why_unusable(name);
      fmt::print("{}: {}\n", name, why.empty() ? make_backend(name)->description() : why);
    }
  });
}

}  // namespace stipple
