// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cuda/cuda_backend.h"

#include <fmt/format.h>

#include "stipple/backend/cuda/make_cuda_backend.h"

namespace stipple {

namespace {

constexpr double kGiB = 1 << 30;
constexpr double kUsableShare = 0.9;  // of what is free: CUDA and other programs want some

std::size_t usable_bytes(std::size_t max_bytes) {
  std::size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "ask for its memory");
  const auto usable = static_cast<std::size_t>(kUsableShare * static_cast<double>(free));
  if (max_bytes > free)
    throw Error(fmt::format("the GPU has {:.1f} GiB free, not {:.1f}; ask for less",
                            static_cast<double>(free) / kGiB, static_cast<double>(max_bytes) / kGiB));
  return max_bytes > 0 ? max_bytes : usable;
}

}  // namespace

CudaBackend::CudaBackend(const BackendOptions& options)
    : context_(std::make_shared<CudaContext>(0, usable_bytes(options.max_bytes))),
      arena_(context_),
      deterministic_(options.deterministic) {
  status_.resize_zero(*this, 1);
  check(cudaMallocHost(reinterpret_cast<void**>(&host_status_), sizeof(StepStatus)),
        "allocate pinned memory");
  check(cudaMallocHost(reinterpret_cast<void**>(&host_totals_), sizeof(Projection::Totals)),
        "allocate pinned memory");
}

CudaBackend::~CudaBackend() {
  cudaStreamSynchronize(stream());
  cudaFreeHost(host_status_);
  cudaFreeHost(host_totals_);
}

std::unique_ptr<Memory> CudaBackend::allocate(std::size_t bytes) {
  return std::make_unique<CudaMemory>(context_, bytes);
}

std::unique_ptr<Memory> CudaBackend::wrap(void* data) { return std::make_unique<CudaMemory>(data); }

void CudaBackend::upload(std::span<const std::byte> from, Memory& to) {
  if (from.empty()) return;
  check(cudaMemcpyAsync(static_cast<CudaMemory&>(to).data(), from.data(), from.size(), cudaMemcpyHostToDevice,
                        stream()),
        "upload");
  context_->wait();  // the source may be gone after this
}

void CudaBackend::download(const Memory& from, std::span<std::byte> to) const {
  if (to.empty()) return;
  check(cudaMemcpyAsync(to.data(), static_cast<const CudaMemory&>(from).data(), to.size(),
                        cudaMemcpyDeviceToHost, stream()),
        "download");
  context_->wait();
}

void CudaBackend::fill_zero(Memory& memory, std::size_t bytes) {
  if (bytes > 0)
    check(cudaMemsetAsync(static_cast<CudaMemory&>(memory).data(), 0, bytes, stream()), "clear memory");
}

std::string CudaBackend::description() const {
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "describe the device");
  return fmt::format("{}, {} multiprocessors, {:.1f} GiB, compute capability {}.{}", device.name,
                     device.multiProcessorCount, static_cast<double>(device.totalGlobalMem) / kGiB,
                     device.major, device.minor);
}

StepStatus* CudaBackend::status() {
  return static_cast<StepStatus*>(static_cast<CudaMemory*>(status_.memory())->data());
}

void CudaBackend::clear_status() { fill_zero(*status_.memory(), sizeof(StepStatus)); }

StepStatus CudaBackend::read_status() {
  check(cudaMemcpyAsync(host_status_, status(), sizeof(StepStatus), cudaMemcpyDeviceToHost, stream()),
        "download");
  context_->wait();
  return *host_status_;
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

}  // namespace stipple
