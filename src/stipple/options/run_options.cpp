// SPDX-License-Identifier: Apache-2.0
#include "stipple/options/run_options.h"

#include "stipple/core/error.h"

namespace stipple {

namespace {

constexpr int kMaxBatch = 1024;

}  // namespace

void check(const RunOptions& o) {
  const TrainOptions& t = o.train;
  const auto require = [](bool good, const char* what) {
    if (!good) throw Error(what);
  };
  check(t.render);
  require(t.steps >= 1, "--steps must be at least 1");
  require(t.batch >= 1 && t.batch <= kMaxBatch, "--batch must be from 1 to 1024");
  require(t.sh_degree <= 3, "--sh-degree must be from 0 to 3");
  require(t.refine_every >= 1 && t.sh_every >= 1, "--refine-every and --sh-every must be at least 1");
  require(t.ssim_weight <= 1, "--ssim-weight must be from 0 to 1");
  require(t.start_opacity > 0 && t.start_opacity < 1, "--start-opacity must lie between 0 and 1");
  require(t.reset_opacity > 0 && t.reset_opacity < 1, "--reset-opacity must lie between 0 and 1");
  require(t.reset_every == 0 || t.strategy != Strategy::kAdc || t.reset_opacity > t.prune_opacity,
          "--reset-opacity must be more than --prune-opacity, or few Gaussians would outlive a reset; with "
          "resets --prune-opacity 0.005 is customary");
  require(t.start_scale > 0, "--start-scale must be more than 0");
  require(t.mean_rate > 0 && t.final_mean_rate > 0, "--mean-rate and --final-mean-rate must be more than 0");
  require(t.growth >= 1, "--growth must be at least 1");
  require(o.scene.downscale >= 1, "--downscale must be at least 1");
}

}  // namespace stipple
