// SPDX-License-Identifier: Apache-2.0
#pragma once
// --port and --address, for the commands that serve a page.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "apps/stipple/server/server.h"

namespace stipple {

struct ServerFlags {
  std::string address = ServerOptions().address;
  std::int64_t port = ServerOptions().port;
  CLI::Option* port_option = nullptr;
};

void add_server_flags(CLI::App& command, ServerFlags& flags);
ServerOptions server_options(const ServerFlags& flags);

}  // namespace stipple
