// SPDX-License-Identifier: Apache-2.0
#pragma once
// Backends for Python's threads. Each thread has its own, so that several can render at the same time. The
// objects of a backend can be used from any thread, one at a time: PyTorch computes gradients of CUDA tensors
// on another thread than the one that rendered.
#include <memory>
#include <mutex>
#include <string>

#include "stipple/backend/backend.h"

namespace stipple {

class SharedBackend {
 public:
  explicit SharedBackend(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}

  // Calls f(backend) with exclusive access. The caller must have released the GIL.
  template <class F>
  auto use(F f) {
    const std::lock_guard lock(mutex_);
    return f(*backend_);
  }

 private:
  std::mutex mutex_;
  std::unique_ptr<Backend> backend_;
};

// This thread's backend of that name or "best"; "cuda:1" is the second GPU.
std::shared_ptr<SharedBackend> shared_backend(const std::string& name);

}  // namespace stipple
