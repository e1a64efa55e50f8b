// SPDX-License-Identifier: Apache-2.0
#pragma once
// A training step: what it changes, what it is to do, and what it is given.
#include <functional>

#include "stipple/backend/pass.h"

namespace stipple {

class Backend;

struct LossTarget {
  DeviceArray<std::uint8_t> color;  // 8 bit, interleaved RGB, value 255 is white
  DeviceArray<float> weight;        // per pixel, 0 ignores it; empty: every pixel counts 1
};

// l1_weight mean |difference| + ssim_weight (1 - mean SSIM), and penalties that the update adds once per
// view: opacity_penalty times the mean opacity, scale_penalty times the mean scale.
struct LossOptions {
  float l1_weight = 0.8f, ssim_weight = 0.2f;
  float opacity_penalty = 0, scale_penalty = 0;
};

// A loss of the caller's: adds its gradient to that of the frame, on the device. Arrays that are empty stand
// for zero; to give a gradient of alpha or depth, resize them to the frame's pixels. It may be called more
// than once for a step, and on a frame that is then discarded.
using FrameLoss = std::function<void(Backend&, const View&, const Frame&, FrameGradient&)>;

struct AdamOptions {
  // Learning rates by parameter group; the base colour and the view-dependent rest are two groups.
  float mean = 0, log_scale = 0, rotation = 0, logit_opacity = 0, sh_base = 0, sh_rest = 0;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-15f;
  int step = 1;  // counted from 1, for the bias correction
  // Leave Gaussians that no view of the step shows untouched, moments and all. GradientSum::view_statistics
  // tells.
  bool visible_only = false;
};

struct AdamMoments {
  DeviceGaussians first, second;
};

struct TrainState {  // what a step changes
  DeviceGaussians gaussians;
  AdamMoments moments;
  DeviceArray<Vec2f>
      statistics;  // GradientSum::view_statistics of all steps, for density control; empty: none are kept
};

// The state before the first step.
TrainState make_train_state(Device& device, const Gaussians& gaussians);

struct TrainStep {  // what a step is to do
  LossOptions loss;
  FrameLoss own_loss;  // besides `loss`, or instead of it where there is no target; may be empty
  AdamOptions adam;
  bool absolute_gradients = false;  // in the statistics
  // Gradients of camera and background in the result, which the step itself has no use for.
  bool wants_camera = false, wants_background = false;
  float noise = 0;  // perturb by so much; 0: not at all
  std::uint64_t noise_seed = 0;
};

struct TrainView {
  View view;
  const LossTarget* target = nullptr;  // null: only the caller's own loss counts
};

struct TrainBuffers {  // what a step leaves behind for the next to reuse; meaningless in between
  Pass pass;
  GradientSum sum;
};

}  // namespace stipple
