// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/model_hello.h"

#include <fmt/format.h>

#include <filesystem>

#include "apps/stipple/run/run_folder.h"
#include "apps/stipple/terminal/message.h"
#include "apps/stipple/view/start_view.h"
#include "stipple/core/error.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

std::vector<SceneView> views_in(const fs::path& folder, SceneOptions options) {
  options.random_point_count = 0;  // only the views are needed
  return load_scene(folder, options).views;
}

}  // namespace

std::vector<SceneView> views_of_model(const std::string& run_or_model, const std::string& scene,
                                      const std::string& loss) {
  if (!has_run_record(run_or_model)) return scene.empty() ? std::vector<SceneView>() : views_in(scene, {});
  const RunRecord record = load_run_record(run_or_model);
  if (!scene.empty()) return views_in(scene, record.scene_options);
  try {
    return views_in(record.scene, record.scene_options);
  } catch (const Error& error) {
    print_warning(fmt::format("{}: {}; name the scene's folder with --scene", loss, error.what()));
    return {};
  }
}

Hello hello_of_models(std::span<const ViewedModel> models, std::span<const SceneView> views) {
  Hello hello;
  hello.mode = models.size() > 1 ? "compare" : "model";
  for (const ViewedModel& model : models) {
    hello.title += (hello.title.empty() ? "" : " and ") + model.name;
    hello.models.push_back(model.info(hello.models.size()));
  }
  const StartView start = start_view(models.front().bounds, views);
  hello.bounds = start.bounds;
  hello.start_camera = start.camera;
  hello.render = models.front().render;
  return hello;
}

}  // namespace stipple
