// SPDX-License-Identifier: Apache-2.0
// The only file that knows which backends this build has.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stipple/backend/backend.h"
#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/core/error.h"

namespace stipple {

std::vector<std::string> backend_names() { return {"cpu"}; }

std::unique_ptr<Backend> make_backend(std::string_view name) {
  if (name == "cpu" || name == "best") return make_cpu_backend();
  throw Error(
      fmt::format("this build has no backend '{}': it has {}", name, fmt::join(backend_names(), ", ")));
}

}  // namespace stipple
