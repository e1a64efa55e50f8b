// SPDX-License-Identifier: Apache-2.0
#include "stipple/options/run_options.h"

#include "stipple/core/error.h"

namespace stipple {

namespace {

constexpr int kMaxBatch = 1024;

}  // namespace

void check(const RunOptions& o) {
  const TrainOptions& t = o.train;
  const auto require = [](bool is_good, const char* option, const char* problem) {
    if (!is_good) throw OptionError(option, problem);
  };
  check(t.render);
  require(t.steps >= 1, "steps", "must be at least 1");
  require(t.batch >= 1 && t.batch <= kMaxBatch, "batch", "must be from 1 to 1024");
  require(t.sh_degree <= 3, "sh_degree", "must be from 0 to 3");
  require(t.refine_every >= 1, "refine_every", "must be at least 1");
  require(t.sh_every >= 1, "sh_every", "must be at least 1");
  require(t.ssim_weight <= 1, "ssim_weight", "must be from 0 to 1");
  require(t.start_opacity > 0 && t.start_opacity < 1, "start_opacity", "must lie between 0 and 1");
  require(t.reset_opacity > 0 && t.reset_opacity < 1, "reset_opacity", "must lie between 0 and 1");
  require(t.reset_every == 0 || t.strategy != Strategy::kAdc || t.reset_opacity > t.prune_opacity,
          "reset_opacity",
          "must be greater than the opacity below which Gaussians are pruned, or few would survive a reset; "
          "runs with resets usually prune below 0.005");
  require(!t.dropout || *t.dropout < 1, "dropout", "must be less than 1");
  require(t.start_scale > 0, "start_scale", "must be greater than 0");
  require(t.mean_rate > 0, "mean_rate", "must be greater than 0");
  require(t.final_mean_rate > 0, "final_mean_rate", "must be greater than 0");
  require(t.depth_decay > 0 && t.depth_decay <= 1, "depth_decay", "must be greater than 0 and at most 1");
  require(t.depth_every >= 1, "depth_every", "must be at least 1");
  require(t.growth >= 1, "growth", "must be at least 1");
  require(o.scene.max_resolution_px <= 65'536, "max_resolution", "must be from 0 to 65536");
  require(o.scene.downscale >= 1 && o.scene.downscale <= 64, "downscale", "must be from 1 to 64");
  require(o.scene.random_point_count >= 1 && o.scene.random_point_count <= 10'000'000, "random_points",
          "must be from 1 to 10000000");
}

}  // namespace stipple
