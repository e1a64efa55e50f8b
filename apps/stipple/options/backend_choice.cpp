// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/options/backend_choice.h"

#include "apps/stipple/commands.h"
#include "stipple/options/run_options.h"

namespace stipple {

void add_backend_options(CLI::App& command, BackendChoice& choice) {
  command.add_option("--backend", choice.backend, kBackendHelp)
      ->type_name(kBackendType)
      ->capture_default_str();
  command.add_option("--device", choice.device, kDeviceHelp)->capture_default_str();
}

}  // namespace stipple
