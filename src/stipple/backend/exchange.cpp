// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/exchange.h"

#include <cassert>
#include <chrono>
#include <utility>

namespace stipple {

namespace {

// Adds the time until the end of the scope.
class Timer {
 public:
  explicit Timer(double& ms) : ms_(ms) {}
  ~Timer() { ms_ += std::chrono::duration<double, std::milli>(Clock::now() - start_).count(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& ms_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

void Exchange::begin_round() {
  own_counts_.clear();
  outgoing_.clear();
}

void Exchange::take(const Pass& projected) {
  const Timer timer(ms_);
  const DeviceArray<ProjectedSplat>& splats = projected.projection.splat;
  own_counts_.push_back(splats.size());
  outgoing_.push_back(splats.copy(backend_));
}

void Exchange::send() {
  const Timer timer(ms_);
  const auto rank_count = static_cast<std::size_t>(link_.ranks().count());
  assert(outgoing_.size() <= rank_count);
  outgoing_.resize(rank_count);  // ranks that draw no view get nothing
  counts_ = link_.join(outgoing_, received_);
  outgoing_.clear();
}

void Exchange::receive(const View& view, Pass& drawn) {
  const Timer timer(ms_);
  backend_.receive(view, received_, drawn);
}

void Exchange::send_back(const Pass* drawn, const WantedGradients& wanted) {
  const Timer timer(ms_);
  split(drawn ? &drawn->dL_dsplat.splat : nullptr, dL_dsplat_);
  if (wanted.absolute_mean) split(drawn ? &drawn->dL_dsplat.absolute_mean_px : nullptr, absolute_mean_px_);
}

// Without a view, this rank has received no splats, and has no gradients to send.
template <class T>
void Exchange::split(const DeviceArray<T>* gradients, std::vector<DeviceArray<T>>& to) {
  to.clear();
  to.resize(counts_.size());
  for (std::size_t view = 0; view < own_counts_.size(); ++view) to[view].resize(backend_, own_counts_[view]);
  const DeviceArray<T> none;
  link_.split(gradients ? *gradients : none, counts_, to);
}

void Exchange::place(std::size_t at, Pass& projected) {
  const Timer timer(ms_);
  projected.dL_dsplat.splat = std::move(dL_dsplat_[at]);
  projected.dL_dsplat.absolute_mean_px =
      absolute_mean_px_.empty() ? DeviceArray<Vec2f>() : std::move(absolute_mean_px_[at]);
}

}  // namespace stipple
