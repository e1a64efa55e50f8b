// SPDX-License-Identifier: Apache-2.0
#pragma once
// --backend and --device, for the commands that render.
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "stipple/backend/backend.h"

namespace stipple {

// The type that --help shows; the completions take the choices from it.
inline constexpr const char* kBackendType = "TEXT:{best,cuda,vulkan,cpu}";

struct BackendChoice {
  std::string backend = "best";
  std::string device = "0";

  std::unique_ptr<Backend> make() const { return make_backend(backend, {.device = device}); }
};

void add_backend_options(CLI::App& command, BackendChoice& choice);

}  // namespace stipple
