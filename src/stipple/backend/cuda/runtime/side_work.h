// SPDX-License-Identifier: Apache-2.0
#pragma once
// Work on a stream of its own, beside that of the context: copies over the bus that kernels need not wait
// for.
#include <memory>

#include "stipple/backend/cuda/runtime/device_memory.h"

namespace stipple::cuda {

class SideWork {
 public:
  explicit SideWork(std::shared_ptr<CudaContext> context) : context_(std::move(context)) {}
  ~SideWork();  // joins
  SideWork(const SideWork&) = delete;
  SideWork& operator=(const SideWork&) = delete;

  // What is queued on the result comes after all work of the context so far, and runs beside what follows ...
  cudaStream_t begin();
  // ... until here: work of the context from now on waits for it.
  void join();

 private:
  void make();

  std::shared_ptr<CudaContext> context_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t begun_ = nullptr, done_ = nullptr;
  bool is_pending_ = false;
};

}  // namespace stipple::cuda
