// SPDX-License-Identifier: Apache-2.0
// stipple view: shows a model in a browser.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>

#include "apps/stipple/commands.h"
#include "apps/stipple/options/backend_choice.h"
#include "apps/stipple/run/run_model.h"
#include "apps/stipple/view/serve_models.h"
#include "apps/stipple/view/server_flags.h"

namespace stipple {

namespace {

struct ViewArguments {
  std::string model;
  ServedModels served;
  ServerFlags server;
};

}  // namespace

void add_view(CLI::App& app) {
  auto a = std::make_shared<ViewArguments>();
  CLI::App* command = app.add_subcommand("view", "Look at a model in a browser");
  command->add_option("model", a->model, model_help())->required();
  command->add_option(
      "--scene", a->served.scene,
      "folder of the scene, whose cameras and photos are then shown; by default, the scene of "
      "the run");
  command->add_flag(
      "--remote", a->served.is_remote,
      "render here (--backend) and send pictures, instead of sending the model to be rendered by "
      "the visitor's GPU: for models that are too large for it");
  add_server_flags(*command, a->server);
  add_backend_options(*command, a->served.backend);
  command->callback([a] {
    a->served.models = {a->model};
    serve_models(a->served, server_options(a->server));
  });
}

}  // namespace stipple
