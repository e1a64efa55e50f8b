// SPDX-License-Identifier: Apache-2.0
// A whole step without a word to the host before its end. The one thing that only the device knows is how many
// pairs of Gaussian and tile a view has, hence how much room they take: that is predicted from the last time the
// view was seen. Where it was too little the step has changed nothing, and is run again with enough.
#include <cstring>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/core/random.h"

namespace stipple {

namespace {

constexpr std::size_t kMargin = std::size_t{1} << 14;
constexpr std::uint64_t kMaxPairs = std::uint64_t{1} << 31;

std::uint64_t hash_of(const Camera& camera) {
  std::uint32_t words[sizeof(Camera) / sizeof(std::uint32_t)];
  static_assert(sizeof(words) == sizeof(Camera));
  std::memcpy(words, &camera, sizeof(camera));
  std::uint64_t hash = 0;
  for (std::uint32_t word : words) hash = hash_bits(hash + word);
  return hash;
}

std::size_t with_slack(std::size_t pairs) { return pairs + pairs / 8 + kMargin; }

}  // namespace

void CudaBackend::enqueue_step(TrainState& state, const View& view, const LossTarget& target, const TrainStep& what,
                               TrainBuffers& b, std::size_t capacity) {
  const auto done = [&](Stage stage) { events_.record(stage, stream()); };
  events_.begin(stream());
  clear_status();
  project(state.gaussians, {}, view, b.projection);
  done(Stage::kProject);
  bin_into(b.projection, view, capacity, b.bins);
  done(Stage::kBin);
  blend(b.projection, b.bins, view, b.frame);
  done(Stage::kBlend);
  loss_into(b.frame, target, what.ssim_weight, b.dL_dframe);
  done(Stage::kLoss);
  b.dL_dsplat.wants_absolute = what.absolute_gradients;
  blend_backward_into(b.projection, b.bins, view, b.frame, b.dL_dframe, b.dL_dsplat);
  done(Stage::kBlendBackward);
  optimize_into(state.gaussians, view, b.projection, b.dL_dsplat, state.moments, what.adam, &state.statistics);
  if (what.noise != 0) perturb_into(state.gaussians, what.noise, what.noise_seed);
  done(Stage::kOptimize);
  check(cudaMemcpyAsync(host_pair_count_, pointer(b.projection.pair_count), sizeof(unsigned long long),
                        cudaMemcpyDeviceToHost, stream()),
        "download");
}

TrainOutcome CudaBackend::train_step(TrainState& state, const View& view, const LossTarget& target,
                                     const TrainStep& what, TrainBuffers& buffers) {
  const std::uint64_t camera = hash_of(view.camera);
  const auto seen = pairs_from_camera_.find(camera);
  std::size_t capacity = seen != pairs_from_camera_.end() ? with_slack(seen->second)
                         : first_capacity_ > 0            ? first_capacity_
                                                          : with_slack(4 * state.gaussians.size());
  for (;;) {
    enqueue_step(state, view, target, what, buffers, capacity);
    const StepStatus status = read_status();
    const std::uint64_t pairs = *host_pair_count_;
    pairs_from_camera_[camera] = static_cast<std::size_t>(pairs);
    if (!status.has_overflowed) {
      TrainOutcome outcome{status.loss, !status.is_bad, {}};
      events_.read(outcome.ms);
      return outcome;
    }
    if (with_slack(static_cast<std::size_t>(pairs)) >= kMaxPairs)
      throw Error(
          "this view is too heavy: more than 2^31 pairs of Gaussian and tile; use fewer Gaussians or fewer "
          "pixels");
    capacity = with_slack(static_cast<std::size_t>(pairs));
    ++rerun_count_;
  }
}

}  // namespace stipple
