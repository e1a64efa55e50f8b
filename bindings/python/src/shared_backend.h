// SPDX-License-Identifier: Apache-2.0
#pragma once
// Backends for Python's threads: each thread has its own, so that two may render at once, and what a backend
// has made may be used from any thread, one at a time. (Gradients of CUDA tensors are asked for on another
// thread than the one that rendered.)
#include <memory>
#include <mutex>
#include <string>

#include "stipple/backend/backend.h"

namespace stipple {

class SharedBackend {
 public:
  explicit SharedBackend(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}

  // Calls f(backend) while no other thread does. The caller has let go of Python's lock.
  template <class F>
  auto use(F f) {
    const std::lock_guard lock(mutex_);
    return f(*backend_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Backend> backend_;
};

// This thread's backend of that name, or of "best"; "cuda:1" is that of the second GPU.
std::shared_ptr<SharedBackend> shared_backend(const std::string& name);

}  // namespace stipple
