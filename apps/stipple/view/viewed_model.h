// SPDX-License-Identifier: Apache-2.0
#pragma once
// A finished model that is shown to visitors.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "apps/stipple/view/messages.h"
#include "apps/stipple/view/served_model.h"
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
  std::unique_ptr<ServedModel> served;  // null if visitors cannot get it

  ModelInfo info(std::size_t number) const;
};

// What visitors get of a model: its file, if a browser can take it, or a smaller one that is made of it.
struct ServingOptions {
  std::uint64_t most_bytes = 0;  // larger files are not for browsers
  bool may_convert = true;
};

// Throws Error if the model has no Gaussians.
ViewedModel load_viewed_model(const std::filesystem::path& run_or_model, const ServingOptions& options,
                              Gaussians& gaussians);

}  // namespace stipple
