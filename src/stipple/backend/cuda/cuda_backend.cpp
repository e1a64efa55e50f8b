// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cuda/cuda_backend.h"

#include <fmt/format.h>

#include "stipple/backend/cuda/make_cuda_backend.h"

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
  if (device < 0 || device >= device_count())
    throw Error(fmt::format("there is no CUDA device {}; devices are numbered from 0 to {}", device,
                            device_count() - 1));
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

std::string describe(int index) {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, index), "query the device properties");
  return fmt::format("{}, {} multiprocessors, {:.1f} GiB, compute capability {}.{}", device.name,
                     device.multiProcessorCount, static_cast<double>(device.totalGlobalMem) / kGiB,
                     device.major, device.minor);
}

}  // namespace

CudaBackend::CudaBackend(const BackendOptions& options)
    : context_(
          std::make_shared<CudaContext>(options.device, usable_bytes(options.device, options.max_bytes))),
      deterministic_(options.deterministic) {}

std::unique_ptr<Memory> CudaBackend::allocate(std::size_t bytes) {
  return std::make_unique<CudaMemory>(context_, bytes);
}

std::unique_ptr<Memory> CudaBackend::borrow(void* data) { return std::make_unique<CudaMemory>(data); }

void CudaBackend::upload(std::span<const std::byte> from, Memory& to) {
  if (from.empty()) return;
  const DeviceGuard guard(*context_);
  check(cudaMemcpyAsync(static_cast<CudaMemory&>(to).data(), from.data(), from.size(), cudaMemcpyHostToDevice,
                        stream()),
        "upload");
  context_->wait();  // the caller may free the source afterwards
}

void CudaBackend::download(const Memory& from, std::span<std::byte> to) const {
  if (to.empty()) return;
  const DeviceGuard guard(*context_);
  check(cudaMemcpyAsync(to.data(), static_cast<const CudaMemory&>(from).data(), to.size(),
                        cudaMemcpyDeviceToHost, stream()),
        "download");
  context_->wait();
}

void CudaBackend::fill_zero(Memory& memory, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceGuard guard(*context_);
  check(cudaMemsetAsync(static_cast<CudaMemory&>(memory).data(), 0, bytes, stream()), "clear memory");
}

void CudaBackend::copy(const Memory& from, Memory& to, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceGuard guard(*context_);
  check(cudaMemcpyAsync(static_cast<CudaMemory&>(to).data(), static_cast<const CudaMemory&>(from).data(),
                        bytes, cudaMemcpyDeviceToDevice, stream()),
        "copy");
}

std::string CudaBackend::description() const { return describe(context_->device()); }

std::vector<std::string> list_cuda_devices() {
  std::vector<std::string> lines;
  for (int i = 0; i < device_count(); ++i) lines.push_back(describe(i));
  return lines;
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
