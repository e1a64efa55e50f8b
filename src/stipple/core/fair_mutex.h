// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace stipple {

// A mutex that is handed on in the order in which it was asked for. A thread that lets go of it and asks
// again at once, as a training loop does, would keep a plain one to itself.
class FairMutex {
 public:
  void lock() {
    std::unique_lock waiting(mutex_);
    const std::uint64_t ticket = next_++;
    is_next_.wait(waiting, [&] { return ticket == served_; });
  }
  void unlock() {
    {
      const std::lock_guard done(mutex_);
      ++served_;
    }
    is_next_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable is_next_;
  std::uint64_t next_ = 0, served_ = 0;
};

}  // namespace stipple
