// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

#include "stipple/backend/pass.h"

namespace stipple {

// Measures the stages of a pass with the host's clock.
class StageClock {
 public:
  void restart() {
    ms_ = {};
    last_ = Clock::now();
  }
  void resume() { last_ = Clock::now(); }  // the time since the last stage belongs to none
  void lap(Stage stage) {                  // call it at the end of the stage
    const auto now = Clock::now();
    ms_[static_cast<std::size_t>(stage)] += std::chrono::duration<double, std::milli>(now - last_).count();
    last_ = now;
  }
  const StageTimes& ms() const { return ms_; }

 private:
  using Clock = std::chrono::steady_clock;
  StageTimes ms_{};
  Clock::time_point last_ = Clock::now();
};

}  // namespace stipple
