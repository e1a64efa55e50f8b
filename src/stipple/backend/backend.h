// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// The contract between a device and everything that renders or trains on it.
//
// A pass runs through stages: project, bin and blend render a frame; loss and depth_loss differentiate it;
// blend_backward and project_backward propagate its gradient back to the parameters; optimize and perturb
// update them. Stages return nothing to the host and do not wait for the device, except that project and bin
// wait if they cannot predict the capacity a view needs. The host obtains all results at once, with read(),
// at the end (docs/backends.md).
#include <span>
#include <string>
#include <string_view>

#include "stipple/backend/rank_link.h"
#include "stipple/backend/train_step.h"

namespace stipple {

// A part of every row of an array: what follows the first so many halves, words of 16 bits.
struct RowPart {
  std::size_t row_halves;     // from one row to the next
  std::size_t first_row = 0;  // that row 0 stands for; a multiple of 64
  std::size_t first_half = 0;
};

// One implementation of the pipeline on one device. Any thread may call it, and several threads may do so
// concurrently as long as they work on different passes and none modifies data that another reads.
class Backend : public Device {
 public:
  virtual std::string_view name() const = 0;
  virtual std::string description() const = 0;  // human-readable: the device and how it is used

  // The device memory, in bytes, that a pass of this size needs in training.
  virtual std::size_t pass_bytes(const PassSize&) const = 0;

  // How arrays travel to the other ranks that train one model. All ranks call it at the same time; the
  // backend must outlive the result.
  virtual std::unique_ptr<RankLink> link(Ranks& ranks);

  // Starts a pass over `view_count` views. Without this call, project starts a pass over one view.
  virtual void begin(Pass&, int view_count) = 0;
  // Waits for all work of the pass and returns its results. Also records the capacity that each view with an
  // id needed, so that the next prediction for that view is right.
  virtual PassResult read(Pass&) = 0;
  // Copies a pass in its current state, so that work can continue from there in two ways.
  virtual Pass copy_of(const Pass&) = 0;
  // Gives back the memory of a pass, which keeps only what it knows about the views.
  virtual void release(Pass& pass) { pass = {}; }
  // Gives back only what makes a pass faster and can be done without; the pass then does without it until
  // release(). False if there was nothing.
  virtual bool release_copies(Pass&) { return false; }

  // Forward. project writes Pass::projection, bin Pass::bins and blend Pass::frame. project and bin may wait
  // for the device if the view has no id or is new to the pass; project then makes room for exactly the
  // splats that there are.
  virtual void project(const DeviceGaussians&, const Precomputed&, const View&, Pass&) = 0;
  // If several ranks train one model, exchange (backend/exchange.h) sends the splats of project to
  // the rank that draws the view. There, receive takes them in place of project: it starts a view with splats
  // that have been projected elsewhere, in the order of the model.
  virtual void receive(const View&, const DeviceArray<ProjectedSplat>&, Pass&) = 0;
  // Announces the view that will be projected next, so that a backend may fetch what that needs of the host's
  // memory while this view goes through its other stages. Call it after project, for the same Gaussians. It
  // changes no result, whatever is projected next.
  virtual void prefetch(const DeviceGaussians&, const Precomputed&, const View&, Pass&) {}
  virtual void bin(const View&, Pass&) = 0;
  virtual void blend(const View&, Pass&) = 0;
  // Blends further channels over the same slots, into one plane per channel. Call it after blend.
  virtual void blend_channels(const View&, const Channels&, Pass&, DeviceArray<float>& planes) = 0;

  // Writes Pass::dL_dframe. Of the view, it uses the background, for a target with alpha.
  virtual void loss(const View&, const LossTarget&, const LossOptions&, Pass&) = 0;

  // Adds the gradient of weight * (the loss that DepthSamples describes) to Pass::dL_dframe, whose planes of
  // alpha and depth are made if they are empty. The frame must have been rendered with DepthOutput::kInverse.
  virtual void depth_loss(const DepthSamples&, float weight, Pass&) = 0;

  // Backward. blend_backward reads Pass::dL_dframe and writes Pass::dL_dsplat.
  virtual void blend_backward(const View&, const WantedGradients&, Pass&) = 0;
  // Adds to Pass::dL_dsplat: call it after blend_backward with WantedGradients::splats. `planes` is the
  // output of blend_channels.
  virtual void blend_channels_backward(const View&, const Channels&, const DeviceArray<float>& planes,
                                       const DeviceArray<float>& dL_dplanes, Pass&,
                                       DeviceArray<float>& dL_dchannels) = 0;
  // Reads Pass::dL_dsplat and adds the view's gradients to the sum.
  virtual void project_backward(const DeviceGaussians&, const Precomputed&, const View&,
                                const WantedGradients&, Pass&, GradientSum&) = 0;

  // Update. optimize takes one Adam step along the sum and adds the sum's view statistics to those of the
  // state. Both stages change nothing if the pass has overflowed or met a value that is not finite.
  virtual void optimize(TrainState&, const GradientSum&, const AdamOptions&, const LossOptions&, Pass&) = 0;
  // Moves every mean by amount * f * covariance * n. The vector n is standard normal, determined by the seed
  // and the Gaussian's index in the whole model; f = sigmoid(100 (0.005 - opacity)) confines the noise to
  // faint Gaussians.
  virtual void perturb(TrainState&, float amount, std::uint64_t seed, Pass&) = 0;

  // project_backward followed by optimize, with bit-identical results, for a pass over one view. A backend
  // can fuse the two so that the parameter gradients, the bulk of a step's memory traffic, are never written.
  virtual void project_backward_optimize(TrainState&, const View&, const WantedGradients&, const AdamOptions&,
                                         const LossOptions&, Pass&);

  // A whole training step over one or more views. A step happens entirely or not at all: if this throws, or
  // if the result is not finite, the state is unchanged. The exception is a failure of the device or of the
  // host's memory during the update itself (TrainBuffers::has_begun_update).
  PassResult train_step(TrainState&, std::span<const TrainView>, const TrainStep&, TrainBuffers&);

  // Copies so many halves of each of `count` rows: to[i] = from[rows[i]], or to[i] = from[i] if `rows` is
  // null. The row kNoRow is one of zeros. Cloning, pruning and reordering Gaussians all reduce to this. The
  // two memories must not be the same.
  static constexpr std::uint32_t kNoRow = 0xffffffff;
  virtual void copy_rows(const Memory& from, const RowPart& from_part, const DeviceArray<std::uint32_t>* rows,
                         Memory& to, const RowPart& to_part, std::size_t count, std::size_t halves) = 0;
  // Whole rows of `row_bytes` bytes, an even number.
  void gather(const Memory& from, const DeviceArray<std::uint32_t>& rows, std::size_t row_bytes, Memory& to) {
    const std::size_t halves = row_bytes / sizeof(std::uint16_t);
    copy_rows(from, {halves}, &rows, to, {halves}, rows.size(), halves);
  }
};

// Runs project, bin and blend.
void forward(Backend& backend, const DeviceGaussians& gaussians, const Precomputed& precomputed,
             const View& view, Pass& pass);

// Returns the Gaussians listed in `rows`, in that order; a row may occur more than once.
DeviceGaussians gather(Backend& backend, const DeviceGaussians& from, const DeviceArray<std::uint32_t>& rows);

struct BackendOptions {
  std::string device = "0";    // a number, counted from 0, or a part of a name in list_devices()
  bool deterministic = false;  // the same bits in every run, even if slower; the CPU always does this
  std::size_t max_bytes = 0;   // limit on the device memory used; 0 means all that is free
};

// Makes the "cuda", "vulkan" or "cpu" backend. "vulkan:1" and "vulkan:radeon" select a device and override
// BackendOptions::device. "best" is the first of these backends that has a device of its own here, which a
// Vulkan driver that computes on the CPU is not; with the name of a device, it is the first backend that has
// such a device, of any kind. Throws Error if there is no such backend or device, or it cannot be used here.
std::unique_ptr<Backend> make_backend(std::string_view name, const BackendOptions& options = {});

// The names of the backends in this build, fastest first.
std::vector<std::string> backend_names();

// Explains in a sentence why a backend cannot be used on this machine; empty if it can.
std::string why_unusable(std::string_view name);

struct DeviceInfo {
  std::string name;          // what the driver calls it
  std::string description;   // human-readable: the name, what it has, and what it lacks
  std::string problem;       // why it cannot be used; empty if it can
  bool is_software = false;  // it stands for a GPU, but computes on the CPU
  std::string id = "";  // differs between the devices of a machine; the same in every process that sees it
};

// The devices of a backend on this machine, also those that cannot be used. They are numbered in this order.
std::vector<DeviceInfo> list_devices(std::string_view name);

// The device that make_backend() would take, which is not started by this. Throws Error like that.
struct DeviceChoice {
  std::string backend;
  std::size_t device;  // its number in list_devices()
};
DeviceChoice choose_device(std::string_view name, const std::string& device = "0");

}  // namespace stipple
