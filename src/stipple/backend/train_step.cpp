// SPDX-License-Identifier: Apache-2.0
// A training step as the composition of its stages; shared by all backends.
#include "stipple/backend/train_step.h"

#include "stipple/backend/backend.h"
#include "stipple/backend/step_stages.h"

namespace stipple {

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

namespace {

bool uses_depths(const TrainView& view, const TrainStep& step) {
  return step.depth_weight != 0 && view.depths && !view.depths->samples.empty();
}

}  // namespace

View rendered_view(const TrainView& view, const TrainStep& step) {
  View rendered = view.view;
  if (uses_depths(view, step)) rendered.options.depth = DepthOutput::kInverse;
  return rendered;
}

void differentiate_frame(Backend& backend, const TrainView& train_view, const View& view,
                         const TrainStep& step, Pass& pass) {
  if (train_view.target) {
    backend.loss(view, *train_view.target, step.loss, pass);
  } else {
    pass.dL_dframe.color.resize_zero(backend, pass.frame.color.size());
    pass.dL_dframe.alpha.resize(backend, 0);
    pass.dL_dframe.depth.resize(backend, 0);
  }
  if (uses_depths(train_view, step)) backend.depth_loss(*train_view.depths, step.depth_weight, pass);
  if (step.own_loss) step.own_loss(backend, view, pass.frame, pass.dL_dframe);
}

namespace {

void enqueue(Backend& backend, TrainState& state, std::span<const TrainView> views, const TrainStep& step,
             TrainBuffers& buffers) {
  Pass& pass = buffers.pass;
  const WantedGradients wanted = wanted_for(step);
  buffers.has_begun_update = false;
  backend.begin(pass, static_cast<int>(views.size()));
  buffers.sum.is_empty = true;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const TrainView& train_view = views[i];
    const View view = rendered_view(train_view, step);
    // The update of a batch changes what several views show, so that nothing is fetched across it.
    const View* const next = views.size() == 1      ? step.next_view
                             : i + 1 < views.size() ? &views[i + 1].view
                                                    : nullptr;
    backend.project(state.gaussians, state.precomputed, view, pass);
    if (next) backend.prefetch(state.gaussians, state.precomputed, *next, pass);
    backend.bin(view, pass);
    backend.blend(view, pass);
    differentiate_frame(backend, train_view, view, step, pass);
    backend.blend_backward(view, wanted, pass);
    if (views.size() > 1)
      backend.project_backward(state.gaussians, state.precomputed, view, wanted, pass, buffers.sum);
    buffers.has_begun_update = &train_view == &views.back();
    if (views.size() == 1) backend.project_backward_optimize(state, view, wanted, step.adam, step.loss, pass);
  }
  if (views.size() > 1) backend.optimize(state, buffers.sum, step.adam, step.loss, pass);
  if (step.noise != 0) backend.perturb(state, step.noise, step.noise_seed, pass);
}

}  // namespace

PassResult Backend::train_step(TrainState& state, std::span<const TrainView> views, const TrainStep& step,
                               TrainBuffers& buffers) {
  for (;;) {
    try {
      enqueue(*this, state, views, step, buffers);
    } catch (const OutOfMemory&) {
      begin(buffers.pass, 0);  // discards the views that have already been projected
      if (!release_copies(buffers.pass)) throw;
      continue;
    } catch (...) {
      begin(buffers.pass, 0);
      throw;
    }
    PassResult result = read(buffers.pass);
    if (!result.has_overflowed) return result;
  }
}

void Backend::project_backward_optimize(TrainState& state, const View& view, const WantedGradients& wanted,
                                        const AdamOptions& adam, const LossOptions& loss, Pass& pass) {
  GradientSum sum;
  project_backward(state.gaussians, state.precomputed, view, wanted, pass, sum);
  optimize(state, sum, adam, loss, pass);
}

void forward(Backend& backend, const DeviceGaussians& gaussians, const Precomputed& precomputed,
             const View& view, Pass& pass) {
  backend.project(gaussians, precomputed, view, pass);
  backend.bin(view, pass);
  backend.blend(view, pass);
}

TrainState make_train_state(Device& device, const Gaussians& gaussians, Place harmonics) {
  TrainState state;
  for_each_harmonics_array([&](auto& array) { array.set_place(harmonics); }, state);
  upload(device, gaussians, state.gaussians);
  reset_moments(device, gaussians.size(), gaussians.sh_degree, state.moments);
  state.statistics.resize_zero(device, gaussians.size());
  return state;
}

}  // namespace stipple
