// SPDX-License-Identifier: Apache-2.0
#include "stipple/clean/blend_weight.h"

#include <algorithm>
#include <cassert>

namespace stipple {

namespace {

// The gradients of the splats for this gradient of the frame's colour.
std::vector<Splat> splat_gradients(Backend& backend, const View& view, std::span<const float> dL_dcolor,
                                   Pass& pass) {
  assert(dL_dcolor.size() == pass.frame.color.size());
  pass.dL_dframe = {};
  pass.dL_dframe.color.upload(backend, dL_dcolor);
  backend.blend_backward(view, {.splats = true}, pass);
  return pass.dL_dsplat.splat.download(backend);
}

}  // namespace

// A pixel is the sum of the splats' channels, each times its blend weight, so the gradient of a channel is
// the sum of blend weights times the gradients of the pixels.
std::vector<float> blend_weights(Backend& backend, const View& view, std::span<const float> pixel_values,
                                 Pass& pass) {
  std::vector<float> planes(3 * pixel_values.size(), 0.0f);
  std::copy(pixel_values.begin(), pixel_values.end(), planes.begin());  // red; the others stay 0
  const std::vector<Splat> gradient = splat_gradients(backend, view, planes, pass);
  std::vector<float> sums(gradient.size());
  std::transform(gradient.begin(), gradient.end(), sums.begin(),
                 [](const Splat& splat) { return splat.channels.x; });
  return sums;
}

// Removing a Gaussian takes its opacity from o to 0, and the frame is linear in o.
std::vector<float> removal_changes(Backend& backend, const View& view, std::span<const float> planes,
                                   Pass& pass) {
  const std::vector<Splat> gradient = splat_gradients(backend, view, planes, pass);
  const std::vector<ProjectedSplat> splats = pass.projection.splat.download(backend);
  std::vector<float> changes(gradient.size(), 0.0f);
  for (std::size_t i = 0; i < changes.size(); ++i)  // the gradient of a splat that is not drawn is 0
    if (splats[i].splat.opacity > 0) changes[i] = -splats[i].splat.opacity * gradient[i].opacity;
  return changes;
}

}  // namespace stipple
