// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "stipple/backend/view.h"

namespace stipple {

// How the number of Gaussians is governed.
enum class Strategy {
  kAdc,   // clone, split, prune. Kerbl et al., 2023, with a penalty in place of its opacity resets
  kMcmc,  // relocation, growth to a cap, noise. Kheradmand et al., 2024
};

// Times are steps of a run of 30,000 and are scaled with `steps`; sizes are fractions of the scene's extent.
struct TrainOptions {
  int steps = 30'000;  // what every schedule is stretched to
  int stop_at = 0;     // ends earlier on the same schedule; 0: at `steps`
  std::uint64_t seed = 1;
  Strategy strategy = Strategy::kAdc;
  int batch = 1;          // views a step
  bool hold_out = false;  // train without the test views

  int sh_degree = 3;  // reached one by one
  int sh_every = 1'000;
  float ssim_weight = 0.2f;
  RenderOptions render;            // how views are drawn, in training and evaluation
  bool random_background = false;  // another colour each step

  // Adam's rates. That of the means is times the extent, and falls exponentially.
  float mean_rate = 1.6e-4f, final_mean_rate = 1.6e-6f;
  float log_scale_rate = 5e-3f, rotation_rate = 1e-3f, logit_opacity_rate = 2.5e-2f;
  float sh_base_rate = 2.5e-3f, sh_rest_rate = 1.25e-4f;
  bool visible_only = false;  // Adam leaves alone what a view does not show
  float opacity_penalty = 2e-3f, scale_penalty = 0;

  float start_opacity = 0.1f, start_scale = 1;  // the latter times the distance of the nearest points

  int refine_from = 500, refine_until = 15'000, refine_every = 100;
  std::size_t max_gaussians = 0;  // 0: as many as the strategy wants
  float prune_opacity = 0.05f;

  // kAdc
  float grow_gradient = 2e-4f;      // mean length of dL_dmean, in half picture sizes, from which on to grow
  bool absolute_gradients = false;  // of gradients without their signs
  float clone_scale = 0.01f;        // up to this size cloned, above split
  float prune_scale = 0;            // larger ones are pruned, after some time; 0: never
  int reset_every = 0;              // opacities; 0: never
  float reset_opacity = 0.01f;

  // kMcmc
  float growth = 1.05f;
  float noise = 5e5f;  // times the rate of the means

  std::size_t max_photo_bytes = std::size_t{4} << 30;
};

// A strategy's own values, where they differ from those above; absolute gradients are larger, and so is the
// one from which on to grow.
TrainOptions default_train_options(Strategy strategy, bool absolute_gradients = false);

}  // namespace stipple
