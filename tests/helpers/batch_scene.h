// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gaussians, some of which no view shows, and several views of different sizes, for steps over a batch.
#include "tests/helpers/backend_run.h"
#include "tests/helpers/conformance_scenes.h"

namespace stipple {

struct BatchScene {
  Gaussians gaussians = random_cloud(2003, 3, 100);
  std::vector<View> views;
  std::vector<LossTarget> targets;
  TrainStep step;

  explicit BatchScene(Backend& backend, int count = 4) {
    for (std::size_t i = 900; i < 1000; ++i) gaussians.mean[i].z = -100;  // seen by no view
    for (int i = 0; i < count; ++i) {
      View view{looking_down_z(120 + 16 * i, 90 - 7 * i, 100), {.background = {0.1f, 0.2f, 0.3f}}};
      view.camera.camera_from_world.translation.x = 0.5f * static_cast<float>(i);
      view.id = i;
      views.push_back(view);
      targets.emplace_back().color.upload(backend,
                                          random_picture(view.camera, 101 + static_cast<std::uint64_t>(i)));
    }
    step.adam = kTestRates;
    step.loss.opacity_penalty = step.loss.scale_penalty = 0.01f;
  }

  std::vector<TrainView> batch() const {
    std::vector<TrainView> all;
    for (std::size_t i = 0; i < views.size(); ++i) all.push_back({views[i], &targets[i]});
    return all;
  }
};

}  // namespace stipple
