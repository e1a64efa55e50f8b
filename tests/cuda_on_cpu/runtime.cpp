// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA runtime that copy memory and describe devices, for kernels that run on the CPU.
// tests/helpers/fake_cuda.cpp has those that manage memory.
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "tests/cuda_on_cpu/streams.h"
#include "tests/helpers/fake_cuda.h"

namespace {

constexpr std::size_t kDeviceBytes = std::size_t{4} << 30;

}  // namespace

extern "C" {

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  cuda_on_cpu::enqueue(stream, [=] { std::memmove(to, from, bytes); });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t stream) {
  cuda_on_cpu::enqueue(stream, [=] { std::memset(data, value, bytes); });
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  std::memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemset(void* data, int value, std::size_t bytes) {
  std::memset(data, value, bytes);
  return cudaSuccess;
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t stream) {
  stipple::fake_cuda::forget_block(data);
  cuda_on_cpu::enqueue(stream, [=] { std::free(data); });
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  *free = *total = kDeviceBytes;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  *properties = {};
  std::strcpy(properties->name, "the CPU in place of a GPU");
  properties->totalGlobalMem = kDeviceBytes;
  properties->multiProcessorCount = 1;
  properties->major = 9;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char* id, int bytes, int) {
  std::strncpy(id, "0000:00:00.0", static_cast<std::size_t>(bytes));
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, std::size_t bytes) {
  if (bytes > kDeviceBytes) return cudaErrorMemoryAllocation;
  *data = std::malloc(bytes);
  return cudaSuccess;
}

}  // extern "C"
