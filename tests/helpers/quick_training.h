// SPDX-License-Identifier: Apache-2.0
#pragma once
// Short runs on small photos of the built-in scene, for tests of the trainer.
#include "stipple/train/trainer.h"
#include "tests/helpers/backend_run.h"
#include "tests/helpers/synth_scene.h"
#include "tests/helpers/test_folder.h"

namespace stipple {

inline constexpr SynthOptions kSmall{.view_count = 10, .width_px = 64, .height_px = 48, .seed = 1};

// The built-in scene, written to a folder once and loaded from it.
inline const Scene& small_scene() {
  static const TestFolder folder;
  static const Scene scene =
      make_synth_scene(folder.path(), kSmall, 1500);  // enough points for such small photos
  return scene;
}

// Options with which everything happens within few steps, including what is off by default: several
// refinements, an opacity reset, all degrees of the harmonics.
inline TrainOptions quick(Strategy strategy) {
  TrainOptions o = default_train_options(strategy);
  o.steps = 300;
  o.refine_every = 10;  // too often for real photos, but a test needs many refinements
  o.max_gaussians = 3000;
  o.reset_every = 3000;
  o.prune_opacity = 0.005f;  // less than the value to which opacities are reset
  o.prune_scale = 0.1f;
  return o;
}

inline Gaussians train(const TrainOptions& options, const std::string& on = "cpu") {
  auto backend = make_test_backend(on);
  Trainer trainer(*backend, small_scene(), options);
  while (!trainer.done()) trainer.step();
  return trainer.gaussians();
}

inline std::string name_of(Strategy strategy) { return strategy == Strategy::kAdc ? "adc" : "mcmc"; }

}  // namespace stipple
