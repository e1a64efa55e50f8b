// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cuda/cuda_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "stipple/backend/cuda/make_cuda_backend.h"
#include "stipple/backend/cuda/nccl_link.h"
#include "stipple/backend/find_device.h"
#include "stipple/core/parallel.h"

namespace stipple::cuda {

namespace {

constexpr double kGiB = 1 << 30;
constexpr double kUsableShare = 0.9;  // of the free memory; CUDA itself and other programs need some

int device_count() {
  int count = 0;
  check(cudaGetDeviceCount(&count), "count the devices");
  return count;
}

std::size_t usable_bytes(int device, std::size_t max_bytes) {
  const DeviceGuard guard(device);
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "query the free memory");
  const auto usable = static_cast<std::size_t>(kUsableShare * static_cast<double>(free));
  if (max_bytes > free)
    throw Error(
        fmt::format("the GPU has {:.1f} GiB free, less than the limit of {:.1f} GiB; set a lower limit",
                    static_cast<double>(free) / kGiB, static_cast<double>(max_bytes) / kGiB));
  return max_bytes > 0 ? max_bytes : usable;
}

cudaDeviceProp properties_of(int index) {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, index), "query the device properties");
  return device;
}

int index_of(const std::string& wanted) {
  std::vector<std::string> names;
  for (int i = 0; i < device_count(); ++i) names.push_back(properties_of(i).name);
  return static_cast<int>(find_device("cuda", names, wanted));
}

std::shared_ptr<CudaContext> make_context(const BackendOptions& options) {
  const int device = index_of(options.device);
  return std::make_shared<CudaContext>(device, usable_bytes(device, options.max_bytes));
}

constexpr std::size_t kHostChunkBytes = std::size_t{4} << 20;

// Memory that the device uses, too, but not now.
void copy_on_host(const void* from, void* to, std::size_t bytes) {
  parallel_chunks(bytes, kHostChunkBytes, [&](std::size_t, std::size_t begin, std::size_t end) {
    std::memcpy(static_cast<std::byte*>(to) + begin, static_cast<const std::byte*>(from) + begin,
                end - begin);
  });
}

void clear_on_host(void* data, std::size_t bytes) {
  parallel_chunks(bytes, kHostChunkBytes, [&](std::size_t, std::size_t begin, std::size_t end) {
    std::memset(static_cast<std::byte*>(data) + begin, 0, end - begin);
  });
}

std::string describe(const cudaDeviceProp& device) {
  return fmt::format("{}, {} multiprocessors, {:.1f} GiB, compute capability {}.{}", device.name,
                     device.multiProcessorCount, static_cast<double>(device.totalGlobalMem) / kGiB,
                     device.major, device.minor);
}

// The number of a device depends on what a process is allowed to see (CUDA_VISIBLE_DEVICES), this does not.
std::string id_of(const cudaDeviceProp& device) {
  std::string id;
  for (const char byte : device.uuid.bytes) id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return id;
}

}  // namespace

CudaBackend::CudaBackend(const BackendOptions& options)
    : context_(make_context(options)), deterministic_(options.deterministic) {}

std::unique_ptr<Memory> CudaBackend::allocate(std::size_t bytes) {
  return std::make_unique<CudaMemory>(context_, bytes);
}

std::unique_ptr<Memory> CudaBackend::borrow(void* data) { return std::make_unique<CudaMemory>(data); }

std::unique_ptr<Memory> CudaBackend::allocate_on_host(std::size_t bytes) {
  return std::make_unique<CudaMemory>(context_, bytes, Place::kHost);
}

void CudaBackend::upload(std::span<const std::byte> from, Memory& to) {
  if (from.empty()) return;
  const DeviceGuard guard(*context_);
  if (void* data = static_cast<CudaMemory&>(to).data(); is_on_host(data)) {
    context_->host_has_changed();
    context_->wait();
    return copy_on_host(from.data(), data, from.size());
  }
  check(cudaMemcpyAsync(static_cast<CudaMemory&>(to).data(), from.data(), from.size(), cudaMemcpyHostToDevice,
                        stream()),
        "upload");
  context_->wait();  // the caller may free the source afterwards
}

void CudaBackend::download(const Memory& from, std::span<std::byte> to) const {
  if (to.empty()) return;
  const DeviceGuard guard(*context_);
  if (const void* data = static_cast<const CudaMemory&>(from).data(); is_on_host(data)) {
    context_->wait();
    return copy_on_host(data, to.data(), to.size());
  }
  check(cudaMemcpyAsync(to.data(), static_cast<const CudaMemory&>(from).data(), to.size(),
                        cudaMemcpyDeviceToHost, stream()),
        "download");
  context_->wait();
}

void CudaBackend::fill_zero(Memory& memory, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceGuard guard(*context_);
  if (void* data = static_cast<CudaMemory&>(memory).data(); is_on_host(data)) {
    context_->host_has_changed();
    context_->wait();
    return clear_on_host(data, bytes);
  }
  check(cudaMemsetAsync(static_cast<CudaMemory&>(memory).data(), 0, bytes, stream()), "clear memory");
}

bool CudaBackend::resize_in_place(Memory& memory, std::size_t bytes) {
  context_->host_has_changed();  // perhaps
  return static_cast<CudaMemory&>(memory).resize(bytes);
}

void CudaBackend::copy(const Memory& from, Memory& to, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceGuard guard(*context_);
  const auto* source = static_cast<const std::byte*>(static_cast<const CudaMemory&>(from).data());
  auto* target = static_cast<std::byte*>(static_cast<CudaMemory&>(to).data());
  const bool from_host = is_on_host(source), to_host = is_on_host(target);
  if (to_host) context_->host_has_changed();
  if (from_host && to_host) {
    context_->wait();
    return copy_on_host(source, target, bytes);
  }
  const cudaMemcpyKind kind = from_host ? cudaMemcpyHostToDevice
                              : to_host ? cudaMemcpyDeviceToHost
                                        : cudaMemcpyDeviceToDevice;
  for (std::size_t at = 0, count = 0; at < bytes; at += count) {
    count = bytes - at;
    if (from_host || to_host)
      count = std::min(count,
                       context_->host_ranges()->bytes_left_in_piece(from_host ? source + at : target + at));
    check(cudaMemcpyAsync(target + at, source + at, count, kind, stream()), "copy");
  }
}

std::string CudaBackend::description() const { return describe(properties_of(context_->device())); }

std::unique_ptr<RankLink> CudaBackend::link(Ranks& ranks) {
  std::unique_ptr<RankLink> direct;
  if (ranks.count() > 1) direct = make_nccl_link(context_, *this, ranks);
  return direct ? std::move(direct) : make_host_link(*this, ranks);
}

std::vector<DeviceInfo> list_cuda_devices() {
  std::vector<DeviceInfo> all;
  if (!why_cuda_is_unusable().empty()) return all;
  for (int i = 0; i < device_count(); ++i) {
    const cudaDeviceProp device = properties_of(i);
    all.push_back({.name = device.name, .description = describe(device), .problem = "", .id = id_of(device)});
  }
  return all;
}

std::unique_ptr<Backend> make_cuda_backend(const BackendOptions& options) {
  return std::make_unique<CudaBackend>(options);
}

std::string why_cuda_is_unusable() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return "";
  cudaGetLastError();
  if (status == cudaErrorInsufficientDriver || status == cudaErrorNoDevice || status == cudaSuccess)
    return "no CUDA device";
  return fmt::format("no CUDA device: {}", cudaGetErrorString(status));
}

}  // namespace stipple::cuda
