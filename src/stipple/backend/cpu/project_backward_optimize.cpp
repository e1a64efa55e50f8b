// SPDX-License-Identifier: Apache-2.0
// project_backward_optimize: the two stages in turns, over pieces whose gradients stay in a core's cache.
#include <array>

#include "stipple/backend/cpu/parameter_step.h"
#include "stipple/core/parallel.h"

namespace stipple {

namespace {

constexpr std::size_t kPiece = 32 * kMaxGroup;  // Gaussians; their gradients take 118 KiB at SH degree 3

struct alignas(64) PieceGradient {
  float mean[3 * kPiece], log_scale[3 * kPiece], rotation[4 * kPiece], logit_opacity[kPiece], sh[48 * kPiece];
};

}  // namespace

void CpuBackend::project_backward_optimize(DeviceGaussians& gaussians, const View& view,
                                           const Projection& projection, const SplatGradient& dL_dsplat,
                                           AdamMoments& moments, const AdamOptions& options) {
  const ProjectBackward backward(gaussians, {}, view, projection, dL_dsplat);
  const AdamStep adam(gaussians, projection, moments, options);
  const std::size_t count = gaussians.size();
  parallel_ranges((count + kPiece - 1) / kPiece, 4, [&](std::size_t first, std::size_t last) {
    PieceGradient g;
    const ParameterGradient gradient{g.mean, g.log_scale, g.rotation, g.logit_opacity, g.sh};
    for (std::size_t piece = first; piece < last; ++piece) {
      const std::size_t begin = piece * kPiece, end = std::min(count, begin + kPiece);
      backward.run(begin, end, gradient, nullptr);
      adam.run(begin, end, gradient);
    }
  });
}

}  // namespace stipple
