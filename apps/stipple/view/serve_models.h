// SPDX-License-Identifier: Apache-2.0
#pragma once
// Serves finished models until the user stops it.
#include <string>
#include <vector>

#include "apps/stipple/options/backend_choice.h"
#include "apps/stipple/server/server.h"

namespace stipple {

struct ServedModels {
  std::vector<std::string> models;  // one, or two to compare; models or folders of runs
  std::string scene;                // empty: that of the first run
  bool is_remote = false;           // pictures are rendered here, as they always are to compare
  BackendChoice backend;
};

void serve_models(const ServedModels& served, const ServerOptions& server);

}  // namespace stipple
