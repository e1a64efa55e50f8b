// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>

namespace stipple {

// Decides when a rank that waits for others gives them up. A launcher asks all ranks to end both when the
// user ends the run and when one of them has died, which then never answers. So after such a signal, a rank
// waits for any one answer no longer than for a time of grace. While the ranks do answer one another, none is
// lost, and they may take as many steps as they need to stop together.
class StopClock {
 public:
  using Time = std::chrono::steady_clock::time_point;
  using Duration = std::chrono::duration<double>;

  explicit StopClock(Duration grace) : grace_(grace) {}

  Duration grace() const { return grace_; }

  // The others have answered, or this rank has only now begun to wait.
  void restart(Time now) { since_ = last_look_ = now; }

  // To be called again and again during a wait; whether to give up.
  bool is_over(Time now, bool is_asked_to_end) {
    const bool was_busy = now - last_look_ > grace_;  // with something else, perhaps like the others
    last_look_ = now;
    if (!is_asked_to_end || was_busy) since_ = now;
    return now - since_ > grace_;
  }

 private:
  Duration grace_;
  Time since_{}, last_look_{};  // since when an answer has been due
};

}  // namespace stipple
