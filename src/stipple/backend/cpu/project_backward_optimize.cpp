// SPDX-License-Identifier: Apache-2.0
// project_backward_optimize: alternates the two stages over pieces whose gradients stay in a core's cache.
#include <array>

#include "stipple/backend/cpu/shared/adam_step.h"
#include "stipple/backend/cpu/shared/density_statistics.h"
#include "stipple/backend/cpu/shared/project_backward_range.h"
#include "stipple/core/parallel.h"

namespace stipple::cpu {

namespace {

constexpr std::size_t kPiece = 32 * kMaxGroup;  // Gaussians; their gradients take 118 KiB at SH degree 3

struct alignas(64) PieceGradient {
  float mean[3 * kPiece], log_scale[3 * kPiece], rotation[4 * kPiece], logit_opacity[kPiece], sh[48 * kPiece];
};

}  // namespace

void CpuBackend::project_backward_optimize(TrainState& state, const View& view, const WantedGradients& wanted,
                                           const AdamOptions& options, const LossOptions& loss, Pass& pass) {
  // The camera's gradient is rarely wanted: leave it to the separate stages.
  if (wanted.camera) return Backend::project_backward_optimize(state, view, wanted, options, loss, pass);
  CpuPass& own = cpu_pass(pass);
  if (!own.may_update()) return;
  const ProjectBackwardRange backward(state.gaussians, state.precomputed, view, wanted, pass);
  const DensityStatistics density(view, pass);
  const AdamStep adam(state, options, loss, 1);
  auto statistics = host(state.statistics);
  const bool wants_statistics = wanted.view_statistics && !statistics.empty();
  const std::size_t count = state.gaussians.size();
  parallel_ranges((count + kPiece - 1) / kPiece, 4, [&](std::size_t first, std::size_t last) {
    PieceGradient g;
    ParameterGradient gradient{{g.mean, g.log_scale, g.rotation, g.logit_opacity, g.sh}};
    gradient.sh_degree = state.gaussians.sh_degree;
    for (std::size_t piece = first; piece < last; ++piece) {
      const std::size_t begin = piece * kPiece, end = std::min(count, begin + kPiece);
      backward.run(begin, end, gradient, nullptr);
      adam.run(begin, end, gradient, [&](std::size_t i) { return density.is_seen(i); });
      if (wants_statistics)
        for (std::size_t i = begin; i < end; ++i) statistics[i] = statistics[i] + density.of(i);
    }
  });
  own.clock.lap(Stage::kOptimize);
}

}  // namespace stipple::cpu
