// SPDX-License-Identifier: Apache-2.0
#pragma once
// A finished model that is shown to visitors.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "apps/stipple/view/messages.h"
#include "apps/stipple/view/served_model.h"
#include "apps/stipple/view/streamed_model.h"
#include "stipple/model/robust_bounds.h"

namespace stipple {

struct ViewedModel {
  std::filesystem::path given;  // a model or the folder of a run
  std::filesystem::path file;   // main file of the model
  std::string name;             // for people
  std::size_t count = 0;
  int sh_degree = 0;
  RenderOptions render;
  RobustBounds bounds;
  // What visitors get: all of it, or pieces. Both are null if it is only rendered for them.
  std::unique_ptr<ServedModel> served;
  std::unique_ptr<StreamedModel> streamed;

  ModelInfo info(std::size_t number) const;
};

// What visitors get of a model: its file, if a browser can take it, or a smaller one that is made of it.
struct ServingOptions {
  std::uint64_t most_bytes = 0;  // larger files are not for browsers
  bool may_convert = true;
  bool may_stream = false;  // a model with levels of detail need not be loaded as a whole
};

// Throws Error if the model has no Gaussians. `gaussians` is left empty if the model is streamed.
ViewedModel load_viewed_model(const std::filesystem::path& run_or_model, const ServingOptions& options,
                              Gaussians& gaussians);

}  // namespace stipple
