// SPDX-License-Identifier: Apache-2.0
// stipple devices: the devices that this build can use on this machine, or the one that --backend and
// --device select.
#include <fmt/format.h>

#include <memory>

#include "apps/stipple/commands.h"
#include "apps/stipple/options/backend_choice.h"
#include "apps/stipple/terminal/standard_files.h"

namespace stipple {

namespace {

void list_all() {
  for (const std::string& name : backend_names()) {
    const std::vector<DeviceInfo> devices = list_devices(name);
    if (devices.empty()) print("{}: {}\n", name, why_unusable(name));
    for (std::size_t i = 0; i < devices.size(); ++i)
      print("{}: {}\n", devices.size() > 1 ? fmt::format("{}, --device {}", name, i) : name,
            devices[i].description);
  }
}

}  // namespace

void add_devices(CLI::App& app) {
  auto choice = std::make_shared<BackendChoice>();
  CLI::App* command = app.add_subcommand(
      "devices", "List the devices of this machine, or with --backend or --device show the one they select");
  add_backend_options(*command, *choice);
  command->callback([command, choice] {
    if (command->count("--backend") + command->count("--device") == 0) return list_all();
    const std::unique_ptr<Backend> backend = choice->make();
    print("{}: {}\n", backend->name(), backend->description());
  });
}

}  // namespace stipple
