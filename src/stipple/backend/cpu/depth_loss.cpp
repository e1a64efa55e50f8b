// SPDX-License-Identifier: Apache-2.0
// depth_loss: the gradient of the frame's error at the pixels whose depth is known.
#include <cassert>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/core/parallel.h"

namespace stipple::cpu {

void CpuBackend::depth_loss(const DepthSamples& depths, float weight, Pass& pass) {
  using M = Math<float>;
  assert(!pass.frame.depth.empty());
  const auto samples = host(depths.samples);
  if (samples.empty()) return;
  add_depth_gradient(*this, pass);
  const auto inverse_depth = host(std::as_const(pass.frame.depth));
  const auto transmittance = host(std::as_const(pass.frame.transmittance));
  const auto dL_ddepth = host(pass.dL_dframe.depth), dL_dalpha = host(pass.dL_dframe.alpha);
  const float dL_derror = weight * depths.scale / static_cast<float>(samples.size());
  // No two samples share a pixel, so that nothing is added up and any order gives the same bits.
  parallel_for(
      samples.size(),
      [&](std::size_t i) {
        const DepthSample& s = samples[i];
        const M::DepthPixel pixel{inverse_depth[s.pixel], 1 - transmittance[s.pixel]};
        const M::DepthPixel d = M::depth_error_vjp(pixel, s.inverse_depth, dL_derror);
        dL_ddepth[s.pixel] += d.inverse_depth;
        dL_dalpha[s.pixel] += d.alpha;
      },
      1024);
  cpu_pass(pass).clock.lap(Stage::kLoss);
}

}  // namespace stipple::cpu
