// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/train_options.h"

namespace stipple {

TrainOptions default_train_options(Strategy strategy, bool absolute_gradients) {
  TrainOptions o;
  o.strategy = strategy;
  o.absolute_gradients = absolute_gradients;
  if (!absolute_gradients) o.grow_gradient = 2e-4f;
  if (strategy == Strategy::kMcmc) return o;
  if (absolute_gradients) o.grow_gradient = 8e-4f;
  o.start_opacity = 0.1f;
  o.start_scale = 1;
  o.prune_opacity = 0.05f;
  o.scale_penalty = 0;
  return o;
}

}  // namespace stipple
