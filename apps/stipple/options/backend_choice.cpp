// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/options/backend_choice.h"

#include "apps/stipple/commands.h"
#include "apps/stipple/options/whole_number.h"

namespace stipple {

void add_backend_options(CLI::App& command, BackendChoice& choice) {
  command
      .add_option("--backend", choice.backend, "cuda, cpu, or best: the fastest that works on this machine")
      ->capture_default_str();
  command.add_option("--device", choice.device, "index of the GPU, as listed by \"stipple devices\"")
      ->check(whole_number(0, 1023))
      ->capture_default_str();
}

}  // namespace stipple
