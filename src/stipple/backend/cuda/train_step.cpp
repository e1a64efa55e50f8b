// SPDX-License-Identifier: Apache-2.0
// A whole step without a word to the host before its end. What only the device knows is how many Gaussians a
// view shows, and in how many tiles, hence how much room they take: that is predicted from the last time the
// view was seen. Where it was too little the step has changed nothing, and is run again with enough.
#include <algorithm>
#include <cstring>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/core/random.h"

namespace stipple {

namespace {

constexpr std::size_t kMargin = std::size_t{1} << 14;
constexpr std::uint64_t kMaxPairs = (std::uint64_t{1} << 31) - (1 << 16);  // they are counted in 32 bits

std::uint64_t hash_of(const Camera& camera) {
  std::uint32_t words[sizeof(Camera) / sizeof(std::uint32_t)];
  static_assert(sizeof(words) == sizeof(Camera));
  std::memcpy(words, &camera, sizeof(camera));
  std::uint64_t hash = 0;
  for (std::uint32_t word : words) hash = hash_bits(hash + word);
  return hash;
}

std::size_t with_slack(std::uint64_t count) {
  return static_cast<std::size_t>(std::min(count + count / 8 + kMargin, kMaxPairs));
}

BinRoom with_slack(const BinRoom& room) { return {with_slack(room.gaussians), with_slack(room.pairs)}; }

}  // namespace

void check_pair_count(std::uint64_t pairs) {
  if (pairs < kMaxPairs) return;
  throw Error(
      "this view is too heavy: about 2^31 pairs of Gaussian and tile; use fewer Gaussians or fewer pixels");
}

void CudaBackend::enqueue_step(TrainState& state, const View& view, const LossTarget& target,
                               const TrainStep& what, TrainBuffers& b, const BinRoom& room) {
  const auto done = [&](Stage stage) { events_.record(stage, stream()); };
  events_.begin(stream());
  clear_status();
  project(state.gaussians, {}, view, b.projection);
  done(Stage::kProject);
  bin_into(b.projection, view, room, b.bins);
  done(Stage::kBin);
  blend(b.projection, b.bins, view, b.frame);
  done(Stage::kBlend);
  loss_into(b.frame, target, what.ssim_weight, b.dL_dframe);
  done(Stage::kLoss);
  b.dL_dsplat.wants_absolute = what.absolute_gradients;
  blend_backward_into(b.projection, b.bins, view, b.frame, b.dL_dframe, true, b.dL_dsplat);
  done(Stage::kBlendBackward);
  optimize_into(state.gaussians, view, b.projection, b.dL_dsplat, state.moments, what.adam,
                &state.statistics);
  if (what.noise != 0) perturb_into(state.gaussians, what.noise, what.noise_seed);
  done(Stage::kOptimize);
  check(cudaMemcpyAsync(host_totals_, pointer(b.projection.totals), sizeof(Projection::Totals),
                        cudaMemcpyDeviceToHost, stream()),
        "download");
}

TrainOutcome CudaBackend::train_step(TrainState& state, const View& view, const LossTarget& target,
                                     const TrainStep& what, TrainBuffers& buffers) {
  const std::uint64_t camera = hash_of(view.camera);
  const auto seen = room_from_camera_.find(camera);
  BinRoom room = seen != room_from_camera_.end() ? with_slack(seen->second)
                 : first_room_.pairs > 0         ? first_room_
                                         : with_slack({state.gaussians.size(), 4 * state.gaussians.size()});
  for (;;) {
    enqueue_step(state, view, target, what, buffers, room);
    const StepStatus status = read_status();
    check_pair_count(host_totals_->pairs);
    const BinRoom needed{static_cast<std::size_t>(host_totals_->gaussians),
                         static_cast<std::size_t>(host_totals_->pairs)};
    room_from_camera_[camera] = needed;
    if (!status.has_overflowed) return {status.loss, !status.is_bad, events_.read()};
    room = with_slack(needed);
    ++rerun_count_;
  }
}

}  // namespace stipple
