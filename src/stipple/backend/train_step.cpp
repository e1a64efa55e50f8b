// SPDX-License-Identifier: Apache-2.0
// A training step as the composition of its stages; shared by all backends.
#include "stipple/backend/train_step.h"

#include "stipple/backend/backend.h"

namespace stipple {

namespace {

WantedGradients wanted_for(const TrainStep& step) {
  WantedGradients wanted;
  wanted.splats = false;
  wanted.absolute_mean = step.absolute_gradients;
  wanted.view_statistics = true;
  wanted.lifts_clamped_colors = step.lifts_clamped_colors;
  wanted.camera = step.wants_camera;
  wanted.background = step.wants_background;
  return wanted;
}

// Computes the frame's gradient with the built-in loss, the caller's own loss, or both.
void differentiate_frame(Backend& backend, const TrainView& view, const TrainStep& step, Pass& pass) {
  if (view.target) {
    backend.loss(view.view, *view.target, step.loss, pass);
  } else {
    pass.dL_dframe.color.resize_zero(backend, pass.frame.color.size());
    pass.dL_dframe.alpha.resize(backend, 0);
    pass.dL_dframe.depth.resize(backend, 0);
  }
  if (step.own_loss) step.own_loss(backend, view.view, pass.frame, pass.dL_dframe);
}

void enqueue(Backend& backend, TrainState& state, std::span<const TrainView> views, const TrainStep& step,
             TrainBuffers& buffers) {
  Pass& pass = buffers.pass;
  const WantedGradients wanted = wanted_for(step);
  backend.begin(pass, static_cast<int>(views.size()));
  buffers.sum.is_empty = true;
  for (const TrainView& view : views) {
    forward(backend, state.gaussians, {}, view.view, pass);
    differentiate_frame(backend, view, step, pass);
    backend.blend_backward(view.view, wanted, pass);
    if (views.size() > 1)
      backend.project_backward(state.gaussians, {}, view.view, wanted, pass, buffers.sum);
    else
      backend.project_backward_optimize(state, view.view, wanted, step.adam, step.loss, pass);
  }
  if (views.size() > 1) backend.optimize(state, buffers.sum, step.adam, step.loss, pass);
  if (step.noise != 0) backend.perturb(state.gaussians, step.noise, step.noise_seed, pass);
}

}  // namespace

PassResult Backend::train_step(TrainState& state, std::span<const TrainView> views, const TrainStep& step,
                               TrainBuffers& buffers) {
  for (;;) {
    try {
      enqueue(*this, state, views, step, buffers);
    } catch (...) {
      begin(buffers.pass, 0);  // discards the views that have already been projected
      throw;
    }
    PassResult result = read(buffers.pass);
    if (!result.has_overflowed) return result;
  }
}

void Backend::project_backward_optimize(TrainState& state, const View& view, const WantedGradients& wanted,
                                        const AdamOptions& adam, const LossOptions& loss, Pass& pass) {
  GradientSum sum;
  project_backward(state.gaussians, {}, view, wanted, pass, sum);
  optimize(state, sum, adam, loss, pass);
}

void forward(Backend& backend, const DeviceGaussians& gaussians, const Precomputed& precomputed,
             const View& view, Pass& pass) {
  backend.project(gaussians, precomputed, view, pass);
  backend.bin(view, pass);
  backend.blend(view, pass);
}

TrainState make_train_state(Device& device, const Gaussians& gaussians) {
  TrainState state;
  state.gaussians = upload(device, gaussians);
  state.moments = {zeros_like(device, state.gaussians), zeros_like(device, state.gaussians)};
  state.statistics.resize_zero(device, gaussians.size());
  return state;
}

}  // namespace stipple
