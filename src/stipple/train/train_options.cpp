// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/train_options.h"

namespace stipple {

TrainOptions default_train_options(Strategy strategy, bool absolute_gradients) {
  TrainOptions o;
  o.strategy = strategy;
  o.absolute_gradients = absolute_gradients;
  if (absolute_gradients) o.grow_gradient = 8e-4f;
  if (strategy == Strategy::kAdc) return o;
  o.refine_until = 25'000;
  o.max_gaussians = 1'000'000;
  o.start_opacity = 0.5f;
  o.start_scale = 0.1f;
  o.prune_opacity = 0.005f;
  o.opacity_penalty = 0.01f;
  o.scale_penalty = 0.01f;
  o.logit_opacity_rate = 5e-2f;
  return o;
}

}  // namespace stipple
