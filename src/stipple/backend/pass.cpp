// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/pass.h"

#include "stipple/core/error.h"

namespace stipple {

std::vector<std::uint32_t> gaussians_of_rows(std::span<const VisibleBlock> visible) {
  std::vector<std::uint32_t> gaussians;
  if (visible.empty()) return gaussians;
  gaussians.reserve(visible.back().end_row());
  for (std::size_t block = 0; block < visible.size(); ++block)
    for (std::uint32_t left = visible[block].mask; left != 0; left &= left - 1)
      gaussians.push_back(static_cast<std::uint32_t>(block * VisibleBlock::kGaussians) +
                          static_cast<std::uint32_t>(std::countr_zero(left)));
  return gaussians;
}

void check_frame_gradient(const Pass& pass) {
  const Frame& frame = pass.frame;
  const FrameGradient& d = pass.dL_dframe;
  if (!d.depth.empty() && frame.depth.empty())
    throw Error("the depth has a gradient, but the frame was rendered without depth");
  const std::size_t pixels = frame.transmittance.size();
  const auto fits = [](const DeviceArray<float>& planes, std::size_t size) {
    return planes.empty() || planes.size() == size;
  };
  if (d.color.size() != 3 * pixels || !fits(d.alpha, pixels) || !fits(d.depth, pixels))
    throw Error("the gradient of a frame must have the size of the frame");
}

void add_depth_gradient(Device& device, Pass& pass) {
  for (DeviceArray<float>* plane : {&pass.dL_dframe.alpha, &pass.dL_dframe.depth})
    if (plane->empty()) plane->resize_zero(device, pass.frame.transmittance.size());
}

void copy_public(Device& device, const Pass& from, Pass& to) {
  to.projection.splat = from.projection.splat.copy(device);
  to.projection.visible = from.projection.visible.copy(device);
  to.bins.column_count = from.bins.column_count;
  to.bins.row_count = from.bins.row_count;
  to.bins.first_row = from.bins.first_row;
  to.bins.slot_begin_from_tile = from.bins.slot_begin_from_tile.copy(device);
  to.bins.splat_from_slot = from.bins.splat_from_slot.copy(device);
  to.frame.width_px = from.frame.width_px;
  to.frame.height_px = from.frame.height_px;
  to.frame.color = from.frame.color.copy(device);
  to.frame.transmittance = from.frame.transmittance.copy(device);
  to.frame.depth = from.frame.depth.copy(device);
  to.dL_dframe.color = from.dL_dframe.color.copy(device);
  to.dL_dframe.alpha = from.dL_dframe.alpha.copy(device);
  to.dL_dframe.depth = from.dL_dframe.depth.copy(device);
  to.dL_dsplat.splat = from.dL_dsplat.splat.copy(device);
  to.dL_dsplat.absolute_mean_px = from.dL_dsplat.absolute_mean_px.copy(device);
}

void resize_sum(Device& device, const DeviceGaussians& gaussians, const Precomputed& precomputed,
                const WantedGradients& wanted, GradientSum& sum) {
  if (!sum.is_empty) return;
  sum.gaussians.sh_degree = gaussians.sh_degree;
  for_each_parameter([&](int, auto& to, const auto& like) { to.resize(device, like.size()); }, sum.gaussians,
                     gaussians);
  sum.precomputed.color.resize(device, precomputed.color.size());
  sum.precomputed.covariance.resize(device, precomputed.covariance.size());
  sum.view_statistics.resize(device, wanted.view_statistics ? gaussians.size() : 0);
}

}  // namespace stipple
