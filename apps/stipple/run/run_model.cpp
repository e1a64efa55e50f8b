// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/run/run_model.h"

#include <fmt/format.h>

#include "apps/stipple/run/run_folder.h"
#include "stipple/core/error.h"
#include "stipple/io/input_file.h"

namespace stipple {

namespace fs = std::filesystem;

std::string model_help() { return fmt::format("model ({}), or folder of a run", model_endings(false)); }

std::string written_model_help() { return fmt::format("{} file", model_endings(true)); }

namespace {

bool is_there(const fs::path& path) { return type_of(path) != fs::file_type::not_found; }
bool is_folder(const fs::path& path) { return type_of(path) == fs::file_type::directory; }

}  // namespace

bool is_run(const fs::path& run_or_model) {
  if (!is_folder(run_or_model)) return false;
  return is_there(run_or_model / "options.json") || is_there(run_or_model / "model.ply") ||
         !model_in_folder(run_or_model);
}

fs::path model_file(const fs::path& run_or_model) {
  if (!is_folder(run_or_model)) return run_or_model;
  if (!is_run(run_or_model)) return *model_in_folder(run_or_model);
  const fs::path model = run_or_model / "model.ply";
  if (!is_there(model))
    throw Error(
        fmt::format("{}: there is no model.ply in this folder; name the folder of a run that has saved one, "
                    "or a model",
                    run_or_model.string()));
  return model;
}

RunModel load_run_model(const fs::path& run_or_model, const LoadModelOptions& options) {
  RunModel model;
  model.gaussians = load_model(model_file(run_or_model), &model.facts, options);
  model.render.antialiased = model.facts.antialiased.value_or(false);
  if (is_there(run_or_model / "options.json")) model.render = load_run_record(run_or_model).render;
  return model;
}

}  // namespace stipple
