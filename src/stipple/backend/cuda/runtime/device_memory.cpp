// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cuda/runtime/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace stipple::cuda {

namespace {

constexpr double kMiB = 1 << 20;
constexpr std::uint64_t kSpareBytes = std::uint64_t{256} << 20;  // that the pool may always keep

}  // namespace

void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error, so that the next call does not report it again
  const std::string message = fmt::format("CUDA failed to {}: {}", what, cudaGetErrorString(status));
  // An error that remains, such as that of a kernel that crashed, makes the device unusable for this process.
  if (cudaFree(nullptr) != cudaSuccess) throw DeviceLost(message);
  throw Error(message);
}

DeviceGuard::DeviceGuard(const CudaContext& context) : DeviceGuard(context.device()) {}

DeviceGuard::DeviceGuard(int device) : device_(device) {
  check(cudaGetDevice(&before_), "query the current device");
  if (before_ != device_) check(cudaSetDevice(device_), "select the device");
}

DeviceGuard::DeviceGuard(int device, std::nothrow_t) noexcept : device_(device), before_(device) {
  int before = device;
  if (cudaGetDevice(&before) == cudaSuccess && before != device && cudaSetDevice(device) == cudaSuccess)
    before_ = before;
}

DeviceGuard::~DeviceGuard() {
  if (before_ != device_) cudaSetDevice(before_);
}

CudaContext::CudaContext(int device, std::size_t max_bytes) : device_(device), max_bytes_(max_bytes) {
  const DeviceGuard guard(device);
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "create a stream");
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "create an event");
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  check(cudaMemPoolCreate(&pool_, &properties), "create a memory pool");
  limit_pool();
}

// Freed memory stays in the pool for the arrays of the next step or refinement. What is more than half as
// much again as what is used goes back to the device, when the stream is next waited for: other programs, and
// other libraries in this one, need it too. An error here changes only how much is kept.
void CudaContext::limit_pool() noexcept {
  std::uint64_t keep = used_bytes_ + used_bytes_ / 2 + kSpareBytes;
  limited_for_bytes_ = used_bytes_.load();
  cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep);
}

void CudaContext::limit_pool_if_changed() noexcept {
  const std::size_t used = used_bytes_, before = limited_for_bytes_;
  if (std::max(used, before) - std::min(used, before) > kSpareBytes / 4) limit_pool();
}

CudaContext::~CudaContext() {
  const DeviceGuard guard(device_, std::nothrow);
  cudaStreamSynchronize(stream_);
  for (const Pinned& block : pinned_) cudaFreeHost(block.data);
  cudaEventDestroy(event_);
  cudaStreamDestroy(stream_);
  cudaMemPoolDestroy(pool_);
}

void* CudaContext::allocate(std::size_t bytes) {
  const DeviceGuard guard(device_);
  const auto fail = [&](const char* why) {
    throw OutOfMemory(fmt::format("cannot allocate {:.0f} MiB on the GPU: {:.0f} MiB are in use, {}",
                                  static_cast<double>(bytes) / kMiB,
                                  static_cast<double>(used_bytes_.load()) / kMiB, why));
  };
  if (bytes > max_bytes_ || used_bytes_ > max_bytes_ - bytes)
    fail("and the total would exceed the memory limit");
  void* data = nullptr;
  cudaError_t status = cudaMallocFromPoolAsync(&data, std::max<std::size_t>(bytes, 1), pool_, stream_);
  if (status == cudaErrorMemoryAllocation) {  // the pool may be fragmented
    cudaGetLastError();
    cudaStreamSynchronize(stream_);
    cudaMemPoolTrimTo(pool_, 0);
    status = cudaMallocFromPoolAsync(&data, std::max<std::size_t>(bytes, 1), pool_, stream_);
  }
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    fail("and other programs may hold the rest");
  }
  check(status, "allocate memory");
  const std::size_t used = used_bytes_ += bytes;
  limit_pool_if_changed();
  for (std::size_t peak = peak_bytes_; peak < used && !peak_bytes_.compare_exchange_weak(peak, used);) {
  }
  return data;
}

void CudaContext::free(void* data, std::size_t bytes) noexcept {
  const DeviceGuard guard(device_, std::nothrow);
  cudaFreeAsync(data, stream_);
  used_bytes_ -= bytes;
  limit_pool_if_changed();
}

void CudaContext::wait() const { check(cudaStreamSynchronize(stream_), "complete the queued work"); }

CudaContext::Pinned CudaContext::take_pinned(std::size_t bytes) {
  {
    const std::lock_guard lock(pinned_mutex_);
    for (Pinned& block : pinned_)
      if (block.bytes >= bytes) {
        std::swap(block, pinned_.back());
        const Pinned taken = pinned_.back();
        pinned_.pop_back();
        return taken;
      }
  }
  const DeviceGuard guard(device_);
  Pinned block{nullptr, std::max<std::size_t>(bytes, 4096)};
  check(cudaMallocHost(&block.data, block.bytes), "allocate pinned memory");
  return block;
}

void CudaContext::give_back(Pinned block) {
  if (!block.data) return;
  const std::lock_guard lock(pinned_mutex_);
  pinned_.push_back(block);
}

void CudaContext::wait_for(cudaStream_t other) {
  const DeviceGuard guard(device_);
  const std::lock_guard lock(event_mutex_);
  check(cudaEventRecord(event_, other), "record an event");
  check(cudaStreamWaitEvent(stream_, event_, 0), "wait for another stream");
}

void CudaContext::make_wait(cudaStream_t other) {
  const DeviceGuard guard(device_);
  const std::lock_guard lock(event_mutex_);
  check(cudaEventRecord(event_, stream_), "record an event");
  check(cudaStreamWaitEvent(other, event_, 0), "make another stream wait");
}

CudaMemory::CudaMemory(std::shared_ptr<CudaContext> context, std::size_t bytes)
    : context_(std::move(context)), bytes_(bytes), data_(context_->allocate(bytes)) {}

CudaMemory::~CudaMemory() {
  if (context_) context_->free(data_, bytes_);
}

void Arena::begin(std::size_t bytes) {
  used_ = 0;
  if (bytes <= size_) return;
  memory_.reset();  // first, so that both blocks never exist at once
  size_ = 0;
  memory_ = std::make_unique<CudaMemory>(context_, bytes);
  size_ = bytes;
}

void* Arena::take_bytes(std::size_t bytes) {
  void* at = static_cast<std::byte*>(memory_->data()) + used_;
  used_ += padded(bytes);
  assert(used_ <= size_);
  return at;
}

}  // namespace stipple::cuda
