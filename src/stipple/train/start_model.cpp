// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/start_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "stipple/camera/pose.h"
#include "stipple/core/checksum.h"
#include "stipple/core/error.h"
#include "stipple/core/spread.h"
#include "stipple/edit/finite.h"
#include "stipple/edit/importance.h"
#include "stipple/edit/select.h"
#include "stipple/edit/sh_degree.h"

namespace stipple {

namespace {

// Of an opacity of 0.9999. The gradient of the logit vanishes at an opacity of 1, so that a Gaussian that
// starts there could never become fainter.
constexpr float kMostLogit = 9.21f;
constexpr std::size_t kMostViews = 64;  // in which a model is looked for
constexpr float kLeastPixels = 0.05f;   // a standard deviation; a model of smaller dots is far away

float largest(Vec3f v) { return std::max({v.x, v.y, v.z}); }

bool is_shown(Vec3f mean, float scale, const Camera& camera) {
  const std::optional<Vec3f> seen = project_point(camera, mean);
  return seen && scale * camera.focal_px.x >= kLeastPixels * seen->z;
}

bool is_in_a_picture(const Gaussians& model, const Scene& scene, std::span<const std::size_t> views) {
  const std::vector<std::size_t> looked_at = spread(views, kMostViews);
  for (std::size_t i = 0; i < model.size(); ++i) {
    const float scale = std::exp(largest(model.log_scale[i]));
    for (const std::size_t view : looked_at)
      if (is_shown(model.mean[i], scale, scene.views[view].camera)) return true;
  }
  return false;
}

}  // namespace

Gaussians start_gaussians(Gaussians model, const Scene& scene, std::span<const std::size_t> views,
                          const TrainOptions& options) {
  if (model.size() == 0) throw Error("the model to start from has no Gaussians", {"start"});
  for (float& logit : model.logit_opacity) logit = std::min(logit, kMostLogit);
  const std::vector<std::uint32_t> rows = usable_rows(model);
  if (rows.empty())
    throw Error("the model to start from has no Gaussian whose values are all finite", {"start"});
  if (rows.size() < model.size()) keep_rows(rows, model);
  if (!is_in_a_picture(model, scene, views))
    throw Error(
        "no photo shows any Gaussian of the model to start from; it must be in the frame of the scene, as a "
        "model that was trained from it is",
        {"start"});
  if (options.max_gaussians > 0 && model.size() > options.max_gaussians)
    keep_rows(most_important(model, options.max_gaussians, scene, views), model);
  if (model.sh_degree > options.sh_degree) set_sh_degree(model, options.sh_degree);
  return model;
}

std::uint32_t fingerprint(const Gaussians& model) {
  std::uint32_t sum = checksum(0, std::as_bytes(std::span(&model.sh_degree, 1)));
  for_each_parameter([&](int, const auto& array) { sum = checksum(sum, std::as_bytes(std::span(array))); },
                     model);
  return sum;
}

}  // namespace stipple
