// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cuda/runtime/side_work.h"

namespace stipple::cuda {

// Blocks of the context's kernels go first.
void SideWork::make() {
  int least = 0, greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "query the priorities of streams");
  if (!begun_) check(cudaEventCreateWithFlags(&begun_, cudaEventDisableTiming), "create an event");
  if (!done_) check(cudaEventCreateWithFlags(&done_, cudaEventDisableTiming), "create an event");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, least), "create a stream");
}

cudaStream_t SideWork::begin() {
  if (!stream_) make();
  check(cudaEventRecord(begun_, context_->stream()), "record an event");
  check(cudaStreamWaitEvent(stream_, begun_, 0), "wait for another stream");
  is_pending_ = true;
  return stream_;
}

void SideWork::join() {
  if (!is_pending_) return;
  check(cudaEventRecord(done_, stream_), "record an event");
  check(cudaStreamWaitEvent(context_->stream(), done_, 0), "wait for another stream");
  is_pending_ = false;
}

SideWork::~SideWork() {
  const DeviceGuard guard(context_->device(), std::nothrow);
  if (is_pending_ && cudaEventRecord(done_, stream_) == cudaSuccess)
    cudaStreamWaitEvent(context_->stream(), done_, 0);
  if (begun_) cudaEventDestroy(begun_);
  if (done_) cudaEventDestroy(done_);
  if (stream_) cudaStreamDestroy(stream_);
}

}  // namespace stipple::cuda
