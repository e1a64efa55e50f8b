// SPDX-License-Identifier: Apache-2.0
#include <cassert>

#include "stipple/backend/vulkan/vulkan_backend.h"

namespace stipple::vulkan {

void VulkanBackend::depth_loss(const DepthSamples& depths, float weight, Pass& pass) {
  assert(!pass.frame.depth.empty());
  const std::size_t count = depths.samples.size();
  if (count == 0) return;
  add_depth_gradient(*this, pass);
  const struct {
    std::uint32_t count;
    float dL_derror;
  } parameters{static_cast<std::uint32_t>(count), weight * depths.scale / static_cast<float>(count)};
  run("depth_loss")
      .bind(depths.samples)
      .bind(pass.frame.depth)
      .bind(pass.frame.transmittance)
      .bind(pass.dL_dframe.depth)
      .bind(pass.dL_dframe.alpha)
      .run(parameters, groups_for(count, 256));
  own(pass).queries.record(Stage::kLoss);
}

}  // namespace stipple::vulkan
