// SPDX-License-Identifier: Apache-2.0
// blend_backward: propagates the frame's gradient to every splat (shared/backward_walk-inl.h).
#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/backend/cpu/shared/channel_group.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/blend_backward.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "stipple/backend/cpu/shared/backward_walk-inl.h"

#if HWY_ONCE
namespace stipple::cpu {

namespace {

Vec3f background_gradient(const Planes& planes, const TilePlace& place, int image_width) {
  Vec3f sum(0, 0, 0);
  for (int y = 0; y < place.height; ++y)
    for (int x = 0; x < place.width; ++x) {
      std::size_t at = static_cast<std::size_t>(place.y + y) * image_width + place.x + x;
      for (int k = 0; k < 3; ++k) sum[k] += planes.gradient[k][at] * planes.transmittance[at];
    }
  return sum;
}

// The sum for channel k, in the order of Splat::channels.
float channel_sum(const PartialSum& sum, int k) {
  constexpr PartialField kField[4] = {kRed, kGreen, kBlue, kDepth};
  return sum.field[kField[k]];
}

template <class T>
const float* floats_or_null(const DeviceArray<T>& array) {
  return array.empty() ? nullptr : host(array).data();
}

}  // namespace

void CpuBackend::blend_backward(const View& view, const WantedGradients& wanted, Pass& pass) {
  check_frame_gradient(pass);
  CpuPass& own = cpu_pass(pass);
  const Frame& frame = pass.frame;
  const FrameGradient& dL_dframe = pass.dL_dframe;
  const std::size_t plane = frame.transmittance.size();
  Planes planes;
  for (std::size_t k = 0; k < 3 && plane > 0; ++k) {
    planes.output[k] = host(frame.color).data() + k * plane;
    planes.gradient[k] = host(dL_dframe.color).data() + k * plane;
  }
  planes.output[3] = floats_or_null(frame.depth);
  planes.gradient[3] = floats_or_null(dL_dframe.depth);
  planes.transmittance = floats_or_null(frame.transmittance);
  planes.dL_dalpha = floats_or_null(dL_dframe.alpha);
  const BackwardKind kind{planes.gradient[3] != nullptr, planes.dL_dalpha != nullptr, wanted.absolute_mean};

  BackwardWalk walk(*this, view, pass);
  std::vector<Vec3f> background(wanted.background ? pass.bins.slot_begin_from_tile.size() - 1 : 0);
  walk.run(nullptr, planes, kind, [&](std::size_t t, const TilePlace& place) {
    if (wanted.background) background[t] = background_gradient(planes, place, frame.width_px);
  });
  own.view().background = {0, 0, 0};
  for (Vec3f tile : background) own.view().background = own.view().background + tile;

  const std::size_t count = pass.projection.splat.size();
  pass.dL_dsplat.splat.resize(*this, count);
  pass.dL_dsplat.absolute_mean_px.resize(*this, wanted.absolute_mean ? count : 0);
  auto dL_dsplat = host(pass.dL_dsplat.splat);
  auto absolute = host(pass.dL_dsplat.absolute_mean_px);
  const bool is_finite = walk.gather([&](std::size_t i, const PartialSum& sum, const Splat& gradient) {
    dL_dsplat[i] = gradient;
    if (!absolute.empty()) absolute[i] = {sum.field[kAbsoluteX], sum.field[kAbsoluteY]};
  });
  if (!is_finite) own.result.is_finite = false;
  own.clock.lap(Stage::kBlendBackward);
}

// Each group of channels is blended and differentiated as if it were the colour. The loss is linear in the
// channels, so the gradients of a splat's position, shape and opacity are the sums over the groups.
void CpuBackend::blend_channels_backward(const View& view, const Channels& channels,
                                         const DeviceArray<float>& planes,
                                         const DeviceArray<float>& dL_dplanes, Pass& pass,
                                         DeviceArray<float>& dL_dchannels) {
  CpuPass& own = cpu_pass(pass);
  const std::size_t plane = pass.frame.transmittance.size(),
                    stride = static_cast<std::size_t>(channels.count);
  dL_dchannels.resize_zero(*this, channels.value.size());
  const std::vector<std::uint32_t> gaussians = gaussians_of_rows(host(pass.projection.visible));
  auto out = host(dL_dchannels);
  auto dL_dsplat = host(pass.dL_dsplat.splat);
  BackwardWalk walk(*this, view, pass);
  for (int first = 0; first < channels.count; first += kChannelGroup) {
    const int count = std::min(kChannelGroup, channels.count - first);
    Planes group;
    for (int k = 0; k < count && plane > 0; ++k) {
      group.output[k] = host(planes).data() + static_cast<std::size_t>(first + k) * plane;
      group.gradient[k] = host(dL_dplanes).data() + static_cast<std::size_t>(first + k) * plane;
    }
    const float* values = load_channel_group(*this, channels, gaussians, first, own.channel_group);
    walk.run(values, group, {true, false, false}, [](std::size_t, const TilePlace&) {});
    const bool is_finite = walk.gather([&](std::size_t i, const PartialSum& sum, const Splat& gradient) {
      Splat& total = dL_dsplat[i];
      total.mean_px = total.mean_px + gradient.mean_px;
      total.conic = total.conic + gradient.conic;
      total.opacity = total.opacity + gradient.opacity;
      for (int k = 0; k < count; ++k)
        out[gaussians[i] * stride + static_cast<std::size_t>(first + k)] = channel_sum(sum, k);
    });
    if (!is_finite) own.result.is_finite = false;
  }
  own.clock.lap(Stage::kBlendBackward);
}

}  // namespace stipple::cpu
#endif
