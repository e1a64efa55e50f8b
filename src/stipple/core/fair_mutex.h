// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace stipple {

// A mutex that serves threads in the order in which they called lock(). With a std::mutex, a thread that
// unlocks and immediately locks again, as a training loop does, could starve the others.
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
