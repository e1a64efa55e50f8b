// SPDX-License-Identifier: Apache-2.0
#pragma once
// The contract between everything that draws or trains and a device.
//
// A pass goes through stages: project, bin and blend draw a picture; loss, blend_backward and
// project_backward take its gradient back to the parameters; optimize and perturb update them. No stage
// returns anything to the host, and none waits for the device, but for bin where a view's room is not known
// yet: what the host wants to know is read once, at the end (docs/backends.md).
#include <span>
#include <string>
#include <string_view>

#include "stipple/backend/train_step.h"

namespace stipple {

// One implementation of the pipeline on one device. It may be called from any thread, and from several at
// once as long as they work on different passes and none changes what another reads.
class Backend : public Device {
 public:
  virtual std::string_view name() const = 0;
  virtual std::string description() const = 0;  // for people: the device and what is used of it

  // About how many of the device's own bytes a pass needs for pictures of so many Gaussians and pixels.
  virtual std::size_t pass_bytes(std::size_t gaussians, std::size_t pixels) const = 0;

  // Starts a pass over so many views. Without it, project starts a pass over one.
  virtual void begin(Pass&, int view_count) = 0;
  // Waits until everything is done. Views that were given an id then have the right room the next time.
  virtual PassResult read(Pass&) = 0;
  // A pass in the same state, to go on from there in two ways.
  virtual Pass copy_of(const Pass&) = 0;

  // Forward. project writes the projection, bin the bins, blend the frame. A view that the pass has not seen
  // yet, or one without an id, may make bin wait.
  virtual void project(const DeviceGaussians&, const Precomputed&, const View&, Pass&) = 0;
  virtual void bin(const View&, Pass&) = 0;
  virtual void blend(const View&, Pass&) = 0;
  // Further channels over the same slots, into as many planes. After blend.
  virtual void blend_channels(const View&, const Channels&, Pass&, DeviceArray<float>& planes) = 0;

  // Writes dL_dframe.
  virtual void loss(const LossTarget&, const LossOptions&, Pass&) = 0;

  // Backward. blend_backward reads dL_dframe and writes dL_dsplat.
  virtual void blend_backward(const View&, const WantedGradients&, Pass&) = 0;
  // After blend_backward with wanted splats, whose gradients this adds to; `planes` is what blend_channels
  // gave.
  virtual void blend_channels_backward(const View&, const Channels&, const DeviceArray<float>& planes,
                                       const DeviceArray<float>& dL_dplanes, Pass&,
                                       DeviceArray<float>& dL_dchannels) = 0;
  virtual void project_backward(const DeviceGaussians&, const Precomputed&, const View&,
                                const WantedGradients&, Pass&, GradientSum&) = 0;

  // Update: one Adam step along the sum, and its observations into the statistics. Changes nothing where the
  // pass has met a value that is not finite, or has overflowed.
  virtual void optimize(TrainState&, const GradientSum&, const AdamOptions&, const LossOptions&, Pass&) = 0;
  // Moves every mean by amount * f * covariance * n, n standard normal from the seed and the Gaussian's
  // index, f falling from 1 to 0 where the opacity exceeds 0.005 by some hundredths.
  virtual void perturb(DeviceGaussians&, float amount, std::uint64_t seed, Pass&) = 0;

  // project_backward and optimize in one, with the bits that the two would give, for a pass over one view:
  // the gradients of the parameters, which are the bulk of a step's memory traffic, then need not be written
  // at all.
  virtual void project_backward_optimize(TrainState&, const View&, const WantedGradients&, const AdamOptions&,
                                         const LossOptions&, Pass&);

  // A whole step over one or several views. A step happens entirely or not at all: when this throws, or says
  // that something was not finite, the state is as it was.
  PassResult train_step(TrainState&, std::span<const TrainView>, const TrainStep&, TrainBuffers&);

  // to[i] = from[rows[i]], rows of this many bytes, or zero for kNoRow: what cloning, pruning and re-ordering
  // Gaussians comes down to.
  static constexpr std::uint32_t kNoRow = 0xffffffff;
  virtual void gather(const Memory& from, const DeviceArray<std::uint32_t>& rows, std::size_t row_bytes,
                      Memory& to) = 0;
};

// project, bin and blend.
void forward(Backend& backend, const DeviceGaussians& gaussians, const Precomputed& precomputed,
             const View& view, Pass& pass);

// The Gaussians in `rows`, in that order; a row may come more than once.
DeviceGaussians gather(Backend& backend, const DeviceGaussians& from, const DeviceArray<std::uint32_t>& rows);

struct BackendOptions {
  int device = 0;              // which of several devices of the kind, as list_devices() counts them
  bool deterministic = false;  // the same bits from run to run also where that costs time; the CPU always is
  std::size_t max_bytes = 0;   // of the device's own memory to use at most; 0: what is free
};

// "cuda" or "cpu", or "best" for the first of these that works here; "cuda:1" is that of device 1, whatever
// the options say. Throws Error naming what there is.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options = {});

// The names that make_backend takes in this build, fastest first.
std::vector<std::string> backend_names();

// Why such a backend cannot be used on this machine, as a sentence; empty when it can.
std::string why_unusable(std::string_view name);

// A line for people about each device that such a backend can use here, in the order of
// BackendOptions::device.
std::vector<std::string> list_devices(std::string_view name);

}  // namespace stipple
