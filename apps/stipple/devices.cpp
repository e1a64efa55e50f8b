// SPDX-License-Identifier: Apache-2.0
// stipple devices: the devices that this build can use on this machine.
#include <fmt/format.h>

#include "apps/stipple/commands.h"
#include "stipple/backend/backend.h"

namespace stipple {

void add_devices(CLI::App& app) {
  CLI::App* command = app.add_subcommand("devices", "List the devices that can be used on this machine");
  command->callback([] {
    for (const std::string& name : backend_names()) {
      const std::vector<std::string> devices = list_devices(name);
      if (devices.empty()) fmt::print("{}: {}\n", name, why_unusable(name));
      for (std::size_t i = 0; i < devices.size(); ++i)
        fmt::print("{}: {}\n", devices.size() > 1 ? fmt::format("{}, --device {}", name, i) : name,
                   devices[i]);
    }
  });
}

}  // namespace stipple
