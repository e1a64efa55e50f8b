// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/server_flags.h"

#include "apps/stipple/options/whole_number.h"

namespace stipple {

void add_server_flags(CLI::App& command, ServerFlags& flags) {
  flags.port_option =
      command
          .add_option("--port", flags.port,
                      "port to listen at; 0 for any free one. Without this flag, the next free "
                      "port is taken if this one is in use")
          ->check(whole_number(0, 65535))
          ->capture_default_str();
  command
      .add_option(
          "--address", flags.address,
          "address to listen at, such as 0.0.0.0 for all of this machine's; the address that is printed "
          "then holds a token that visitors need")
      ->capture_default_str();
}

ServerOptions server_options(const ServerFlags& flags) {
  ServerOptions options;
  options.address = flags.address;
  options.port = static_cast<std::uint16_t>(flags.port);
  options.is_port_wanted = flags.port_option->count() > 0;
  return options;
}

}  // namespace stipple
