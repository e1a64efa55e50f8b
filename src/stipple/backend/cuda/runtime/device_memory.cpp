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
  int least = 0, greatest = 0;  // priorities; what runs beside this stream has the least
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "query the priorities of streams");
  check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, greatest), "create a stream");
  check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "create an event");
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  check(cudaMemPoolCreate(&pool_, &properties), "create a memory pool");
  limit_pool();
  pages_ = PagePool::make(device, stream_, max_bytes);
  host_ranges_ = HostRanges::make(device);
}

// Freed memory stays in the pools for the arrays of the next step or refinement. What is more than half as
// much again as what is used goes back to the device, from the pool of small blocks when the stream is next
// waited for: other programs, and other libraries in this one, need it too.
std::size_t CudaContext::most_kept_bytes() const noexcept { return used_bytes_ / 2 + kSpareBytes; }

// An error here changes only how much is kept.
void CudaContext::limit_pool() noexcept {
  std::uint64_t keep = used_bytes_ + most_kept_bytes();
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
  pages_.reset();  // it uses the stream, and so do these
  host_ranges_.reset();
  cudaEventDestroy(event_);
  cudaStreamDestroy(stream_);
  cudaMemPoolDestroy(pool_);
}

void CudaContext::fail(std::size_t wanted, const char* why) const {
  throw OutOfMemory(fmt::format("cannot allocate {:.0f} MiB on the GPU: {:.0f} MiB are in use, {}",
                                static_cast<double>(wanted) / kMiB,
                                static_cast<double>(used_bytes_.load()) / kMiB, why));
}

// Counts bytes as used, unless they are too many.
void CudaContext::claim(std::size_t bytes, std::size_t wanted) {
  std::size_t used = used_bytes_;
  do {
    if (bytes > max_bytes_ || used > max_bytes_ - bytes)
      fail(wanted, "and the total would exceed the memory limit");
  } while (!used_bytes_.compare_exchange_weak(used, used + bytes));
  used += bytes;
  for (std::size_t peak = peak_bytes_; peak < used && !peak_bytes_.compare_exchange_weak(peak, used);) {
  }
  limit_pool_if_changed();
}

void CudaContext::unclaim(std::size_t bytes) noexcept {
  used_bytes_ -= bytes;
  limit_pool_if_changed();
}

CudaContext::Block CudaContext::allocate(std::size_t bytes) {
  const DeviceGuard guard(device_);
  if (bytes > max_bytes_) fail(bytes, "and the total would exceed the memory limit");
  Block block;
  block.is_paged = is_paged(bytes);
  block.bytes = block.is_paged ? pages_->pages_for(bytes) * pages_->page_bytes() : bytes;
  claim(block.bytes, bytes);
  try {
    if (block.is_paged) {
      const CUresult result =
          with_more_memory([&] { return pages_->allocate(block.bytes / pages_->page_bytes(), block.pages); });
      block.is_paged = result == CUDA_SUCCESS;
    }
    block.data = block.is_paged ? reinterpret_cast<void*>(block.pages->address) : allocate_in_pool(bytes);
  } catch (...) {
    unclaim(block.bytes);
    throw;
  }
  return block;
}

CudaContext::Block CudaContext::allocate_on_host(std::size_t bytes) {
  if (!host_ranges_) throw OutOfMemory("this GPU cannot use memory of the host");
  const DeviceGuard guard(device_);
  Block block;
  block.place = Place::kHost;
  block.data = host_ranges_->allocate(bytes);
  return block;
}

// Repeats work on pages that has found no memory without what the pool of small blocks keeps.
template <class Work>
CUresult CudaContext::with_more_memory(Work work) {
  const CUresult result = work();
  if (result != CUDA_ERROR_OUT_OF_MEMORY) return result;
  cudaStreamSynchronize(stream_);
  cudaMemPoolTrimTo(pool_, 0);
  return work();
}

void* CudaContext::allocate_in_pool(std::size_t bytes) {
  void* data = nullptr;
  cudaError_t status = cudaMallocFromPoolAsync(&data, std::max<std::size_t>(bytes, 1), pool_, stream_);
  if (status == cudaErrorMemoryAllocation) {  // the pool may be fragmented, and there may be free pages
    cudaGetLastError();
    cudaStreamSynchronize(stream_);
    cudaMemPoolTrimTo(pool_, 0);
    if (pages_) pages_->trim(0);
    status = cudaMallocFromPoolAsync(&data, std::max<std::size_t>(bytes, 1), pool_, stream_);
  }
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    fail(bytes, "and other programs may hold the rest");
  }
  check(status, "allocate memory");
  return data;
}

void CudaContext::free(const Block& block) noexcept {
  const DeviceGuard guard(device_, std::nothrow);
  if (block.place == Place::kHost) return host_ranges_->free(block.data);
  if (block.is_paged)
    pages_->free(block.pages);
  else
    cudaFreeAsync(block.data, stream_);
  unclaim(block.bytes);
  if (block.is_paged) pages_->trim(most_kept_bytes());
}

bool CudaContext::resize(Block& block, std::size_t bytes) {
  if (!block.is_paged && block.place == Place::kDevice) return false;
  const DeviceGuard guard(device_);
  if (block.place == Place::kHost) {
    host_ranges_->resize(block.data, bytes);
    return true;
  }
  if (bytes > max_bytes_) fail(bytes, "and the total would exceed the memory limit");
  const std::size_t count = pages_->pages_for(bytes), after = count * pages_->page_bytes();
  const std::size_t more = after > block.bytes ? after - block.bytes : 0;
  claim(more, more);
  const CUresult result = with_more_memory([&] { return pages_->resize(block.pages, count); });
  if (result != CUDA_SUCCESS) {
    unclaim(more);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) fail(more, "and other programs may hold the rest");
    check(cudaFree(nullptr), "resize memory");  // throws DeviceLost if that is the reason
    throw Error(fmt::format("CUDA failed to resize memory: error {}", static_cast<int>(result)));
  }
  if (after < block.bytes) {
    unclaim(block.bytes - after);
    pages_->trim(most_kept_bytes());
  }
  block.bytes = after;
  return true;
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

CudaMemory::CudaMemory(std::shared_ptr<CudaContext> context, std::size_t bytes, Place place)
    : context_(std::move(context)),
      block_(place == Place::kHost ? context_->allocate_on_host(bytes) : context_->allocate(bytes)) {}

CudaMemory::~CudaMemory() {
  if (context_) context_->free(block_);
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
