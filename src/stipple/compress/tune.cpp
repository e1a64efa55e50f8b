// SPDX-License-Identifier: Apache-2.0
#include "stipple/compress/tune.h"

#include <fmt/format.h>

#include <cassert>

#include "stipple/core/device.h"
#include "stipple/train/trainer.h"

namespace stipple {

namespace {

// The model has been trained already: its Gaussians are where they should be, and move at the rates of the
// end of a run. What pushes a model into shape, penalties and density control, has done its work, too.
TrainOptions tune_options(const Gaussians& gaussians, const TuneOptions& o) {
  TrainOptions t = default_train_options(Strategy::kAdc);
  t.steps = o.steps;
  t.seed = o.seed;
  t.hold_out = o.hold_out;
  t.guard = GuardUse::kOff;
  t.sh_degree = gaussians.sh_degree;
  t.sh_every = 0;
  t.render = o.render;
  t.min_size_px = 0;
  t.dropout = 0.0f;
  t.mean_rate = 10 * t.final_mean_rate;
  t.opacity_penalty = t.scale_penalty = 0;
  t.refine_from = t.refine_until = 0;
  return t;
}

}  // namespace

Gaussians tune(Backend& backend, const Scene& scene, const Gaussians& gaussians, const TuneOptions& options,
               const std::function<void(int)>& progress) {
  Trainer trainer(backend, scene, tune_options(gaussians, options), gaussians);
  if (trainer.dropped_count() > 0)
    throw OutOfMemory(
        fmt::format("the device's memory is too small to train {} Gaussians", gaussians.size()));
  while (!trainer.done()) {
    trainer.step();
    if (progress) progress(trainer.steps_done());
  }
  Gaussians tuned = trainer.gaussians();
  assert(tuned.size() == gaussians.size());
  return tuned;
}

}  // namespace stipple
