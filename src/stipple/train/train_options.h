// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>

#include "stipple/backend/view.h"

namespace stipple {

// How density control changes the set of Gaussians.
enum class Strategy {
  kAdc,   // clone, split, prune: Kerbl et al., 2023, with an opacity penalty instead of opacity resets
  kMcmc,  // relocate, grow up to a cap, add noise: Kheradmand et al., 2024
};

// Whether some training views are watched instead of trained on, so that the run can go back when they get
// worse (train/guard.h).
enum class GuardUse {
  kAuto,  // if there are enough views
  kOff,
};

// Whether harmonics may lie in the host's memory when the device's is too small for them.
enum class Offload { kAuto, kOff };

// Times are given in steps of a run of 30,000 and are scaled to `steps`. Sizes are fractions of the scene
// extent.
struct TrainOptions {
  int steps = 30'000;  // all schedules are scaled to this number
  int stop_at = 0;     // stops earlier without changing the schedules; 0 means at `steps`
  std::uint64_t seed = 1;
  Strategy strategy = Strategy::kMcmc;
  int batch = 1;          // views per step
  bool hold_out = false;  // train without the test views
  GuardUse guard = GuardUse::kAuto;

  int sh_degree = 3;  // at the end; it starts at 0 and rises by one every sh_every steps
  int sh_every = 1'000;
  float ssim_weight = 0.2f;
  RenderOptions render;            // for training and evaluation
  bool random_background = false;  // a different colour in every step
  // The smallest standard deviation of a Gaussian, in pixels of the training view that sees it largest: exact
  // as a 3D filter if render.antialiased, else a quarter of it is a limit on its scales. 0 means none.
  float min_size_px = 0.447f;  // sqrt(0.2), Mip-Splatting's
  // The share of Gaussians that is left out of the last step; the share grows in proportion to the step.
  // Empty means 0.2 with fewer than 12 training views, else 0.
  std::optional<float> dropout;

  // Learning rates of Adam. That of the means is multiplied by the scene extent and decays exponentially.
  float mean_rate = 1.6e-4f, final_mean_rate = 1.6e-6f;
  float log_scale_rate = 5e-3f, rotation_rate = 1e-3f, logit_opacity_rate = 2.5e-2f;
  float sh_base_rate = 2.5e-3f, sh_rest_rate = 1.25e-4f;
  bool visible_only = false;  // do not update Gaussians that no view of the step shows
  float opacity_penalty = 2e-3f, scale_penalty = 0.01f;  // scales as fractions of the scene extent
  // The depth loss (docs/training.md): its weight at the first step, 0 if it is not used, and the share of it
  // that is left at the last step. It costs time, so only every so many steps have it, with a higher weight.
  float depth_weight = 0, depth_decay = 0.01f;
  int depth_every = 5;

  float start_opacity = 0.5f, start_scale = 0.5f;  // start_scale: times the distance to the nearest points

  int refine_from = 500, refine_until = 15'000, refine_every = 100;
  std::size_t max_gaussians = 0;  // 0 means no limit
  float prune_opacity = 0.005f;
  // The threshold for the mean length of dL_dmean, in units of half the image size.
  float grow_gradient = 12e-4f;
  bool absolute_gradients = true;  // accumulate the absolute gradients of all pixels

  // kAdc
  float clone_scale = 0.01f;  // Gaussians up to this size are cloned, larger ones split
  float prune_scale = 0;      // larger Gaussians are pruned, after step 3,000; 0 means never
  int reset_every = 0;        // steps between opacity resets; 0 means never
  float reset_opacity = 0.01f;

  // kMcmc
  float growth = 1.5f;  // at most this factor per refinement
  float noise = 300;    // at the first step, as a multiple of 1 / scene extent; decays as mean_rate

  std::size_t max_photo_bytes = std::size_t{4} << 30;  // host memory for decoded photos
  Offload offload = Offload::kAuto;
};

// The defaults of a strategy. Absolute gradients are larger, so they come with a higher grow_gradient.
TrainOptions default_train_options(Strategy strategy, bool absolute_gradients = true);

}  // namespace stipple
