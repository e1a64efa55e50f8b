// SPDX-License-Identifier: Apache-2.0
#pragma once
// Fits Gaussians on a plane to a single image, with the stages, loss and optimiser that also train a scene.
#include <cstdint>

#include "stipple/backend/backend.h"
#include "stipple/image/image.h"

namespace stipple {

struct FitOptions {
  int gaussian_count = 2000;
  int steps = 2000;
  float ssim_weight = 0.2f;
  std::uint64_t seed = 0;
};

class ImageFit {
 public:
  // The image must have 3 channels. The backend must outlive this object.
  ImageFit(Backend& backend, const Image& image, const FitOptions& options);

  float step();  // returns the loss
  int steps_done() const { return step_; }
  bool done() const { return step_ >= options_.steps; }

  const View& view() const { return view_; }
  Gaussians gaussians() const { return download(backend_, state_.gaussians); }
  Image render();  // with the current Gaussians

 private:
  AdamOptions rates() const;
  void keep_on_plane();

  Backend& backend_;
  FitOptions options_;
  View view_;
  LossTarget target_;
  TrainState state_;
  TrainBuffers buffers_;
  int step_ = 0;
};

}  // namespace stipple
