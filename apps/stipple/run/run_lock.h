// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

namespace stipple {

// Keeps a second training run out of a run folder, in which the two would mix their files. The lock is a
// file, .lock, that is locked with flock(): the system releases it however the process ends, so that what a
// killed run leaves does not block the next one. Where the file system has no locks, nothing is locked.
class RunLock {
 public:
  // Throws Error if another process holds the lock; the error names the process.
  explicit RunLock(const std::filesystem::path& folder);
  ~RunLock();
  RunLock(const RunLock&) = delete;
  RunLock& operator=(const RunLock&) = delete;

 private:
  bool try_to_lock(const std::filesystem::path& folder);

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace stipple
