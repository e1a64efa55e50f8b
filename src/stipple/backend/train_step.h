// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// A training step: the state it changes, its options and its inputs.
#include <functional>

#include "stipple/backend/adam_moments.h"
#include "stipple/backend/pass.h"

namespace stipple {

class Backend;

struct LossTarget {
  DeviceArray<std::uint8_t> color;  // interleaved RGB, 8 bits per channel, 255 is white
  DeviceArray<float> weight;        // per pixel; 0 ignores the pixel; an empty array means 1 everywhere
  // Per pixel, 255 is opaque. The colours are multiplied by it, and the loss completes them with the view's
  // background. An empty array means that the target is opaque.
  DeviceArray<std::uint8_t> alpha;
};

// The loss is l1_weight * mean |difference| + ssim_weight * (1 - mean SSIM). For each view, the update also
// adds the penalties opacity_penalty * mean opacity and scale_penalty * mean scale.
struct LossOptions {
  float l1_weight = 0.8f, ssim_weight = 0.2f;
  float opacity_penalty = 0, scale_penalty = 0;
};

// A pixel of a view whose depth is known.
struct DepthSample {
  std::uint32_t pixel;  // y * width + x
  float inverse_depth;
};

// What is known about the depths of a view. The depth loss is scale * mean |D - A / d| over the samples,
// where D is the blended inverse depth of the pixel, A its alpha and d its known depth (math/depth.glsl).
struct DepthSamples {
  DeviceArray<DepthSample> samples;  // at most one for each pixel
  float scale = 1;                   // scene units: a typical depth, which makes the loss a plain number
};

// A loss function supplied by the caller. It adds its gradient to that of the frame, on the device. An empty
// array stands for zero: to add a gradient of alpha or depth, first resize it to one plane. The function may
// be called more than once per step, and for frames that are then discarded. In steps with a loss on known
// depths, the frame holds inverse depths, whatever the view asks for.
using FrameLoss = std::function<void(Backend&, const View&, const Frame&, FrameGradient&)>;

struct AdamOptions {
  // Learning rates per parameter group; the base colour and the view-dependent rest are two groups.
  float mean = 0, log_scale = 0, rotation = 0, logit_opacity = 0, sh_base = 0, sh_rest = 0;
  float beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-15f;
  int step = 1;  // counted from 1, for the bias correction and for the rounding of the moments
  // Leave Gaussians that are not visible in any view of the step unchanged, including their moments, or leave
  // only their harmonics unchanged. Both need GradientSum::view_statistics.
  bool visible_only = false, visible_harmonics_only = false;

  bool harmonics_of_visible_only() const { return visible_only || visible_harmonics_only; }
};

// The place of a state's Gaussians in the whole model, which is the parts of all ranks one after another.
struct ModelPart {
  std::size_t first = 0;  // the index in the whole model of the first one
  std::size_t total = 0;  // of the whole model; 0 means that these are all

  std::size_t total_of(std::size_t own) const { return total > 0 ? total : own; }  // if it has `own` of them
};

struct TrainState {  // what a step changes
  DeviceGaussians gaussians;
  // What the forward and backward stages are given besides; not changed by a step. Only filter_variance may
  // be set: a colour or covariance that is given could not be optimised.
  Precomputed precomputed;
  AdamMoments moments;
  // Density statistics: GradientSum::view_statistics summed over steps; empty if they are not kept.
  DeviceArray<Vec2f> statistics;
  ModelPart part;

  std::size_t size_of_model() const { return part.total_of(gaussians.size()); }
};

// Calls f for the arrays of the harmonics, three quarters of the state. A step accesses those of the
// Gaussians that its views show, and of no others with AdamOptions::visible_harmonics_only; then they may lie
// on the host.
template <class F, class State>
void for_each_harmonics_array(F f, State& state) {
  f(state.gaussians.sh);
  f(state.moments.sh_base);
  f(state.moments.sh_rest);
}

// The state before the first step, with zero moments and statistics.
TrainState make_train_state(Device& device, const Gaussians& gaussians, Place harmonics = Place::kDevice);

struct TrainStep {  // the options of a step
  LossOptions loss;
  FrameLoss own_loss;  // added to `loss`, or used alone if a view has no target; may be empty
  // Of the depth loss, for views that have depths; 0 leaves it out. The value that is reported as the loss of
  // a view does not include it, just as it does not include the penalties.
  float depth_weight = 0;
  AdamOptions adam;
  bool absolute_gradients = false;    // use them in the density statistics
  bool lifts_clamped_colors = false;  // WantedGradients::lifts_clamped_colors
  // Also return the gradients of camera and background, which the step itself does not use. That of the
  // background is of the frame alone, even where the target is in front of the same background.
  bool wants_camera = false, wants_background = false;
  float noise = 0;  // amount for perturb; 0 for none
  std::uint64_t noise_seed = 0;
  const View* next_view = nullptr;  // that the next step will begin with, if it is known (Backend::prefetch)
};

struct TrainView {
  View view;
  const LossTarget* target = nullptr;  // null if only TrainStep::own_loss applies
  // Null if none are known. If they are used, the view is rendered with its inverse depth.
  const DepthSamples* depths = nullptr;
};

struct TrainBuffers {  // memory reused from step to step; the contents are undefined in between
  Pass pass;
  Pass projected, drawn;  // with several ranks: of views that another rank draws, and of one that this draws
  GradientSum sum;
  // The step has got as far as its update. If train_step() throws anything but OutOfMemory after that, the
  // state may have changed.
  bool has_begun_update = false;
};

}  // namespace stipple
