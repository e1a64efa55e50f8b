// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/viewed_model.h"

#include <fmt/format.h>

#include <utility>

#include "apps/stipple/run/run_model.h"
#include "stipple/core/error.h"

namespace stipple {

namespace fs = std::filesystem;

ModelInfo ViewedModel::info(std::size_t number) const {
  ModelInfo info{
      .name = name, .count = count, .sh_degree = sh_degree, .url = {}, .format = {}, .lod_url = {}};
  if (streamed) info.lod_url = fmt::format("lod/{}", number);
  if (!served) return info;
  info.bytes = served->size_bytes();
  info.url = fmt::format("model/{}", number);
  info.format = served->format();
  return info;
}

namespace {

void stream(ViewedModel& viewed) {
  viewed.streamed = std::make_unique<StreamedModel>(viewed.file);
  viewed.count = viewed.streamed->count();
  viewed.sh_degree = viewed.streamed->sh_degree();
  viewed.render.antialiased = viewed.streamed->is_antialiased();
  viewed.bounds = robust_bounds(viewed.streamed->coarse());
}

}  // namespace

ViewedModel load_viewed_model(const fs::path& run_or_model, const ServingOptions& options,
                              Gaussians& gaussians) {
  ViewedModel viewed;
  viewed.given = run_or_model;
  viewed.file = model_file(run_or_model);
  const fs::path named = (fs::absolute(run_or_model) / "").parent_path();  // treats "run" and "run/" alike
  viewed.name = named.lexically_normal().filename().string();
  if (options.may_stream && is_streamed(viewed.file)) {
    stream(viewed);
    return viewed;
  }
  RunModel model = load_run_model(run_or_model);
  if (model.gaussians.size() == 0)
    throw Error(
        fmt::format("{}: the model has no Gaussians, so there is nothing to see", run_or_model.string()));
  viewed.count = model.gaussians.size();
  viewed.sh_degree = model.gaussians.sh_degree;
  viewed.render = model.render;
  viewed.bounds = robust_bounds(model.gaussians);
  viewed.served = ServedModel::of_file(viewed.file, model.facts, options.most_bytes);
  if (!viewed.served && options.may_convert)
    viewed.served = ServedModel::converted(model.gaussians, model.facts.antialiased.value_or(false));
  gaussians = std::move(model.gaussians);
  return viewed;
}

}  // namespace stipple
