// SPDX-License-Identifier: Apache-2.0
#pragma once
// Runs kernels of CUDA on the CPU: what the language has beyond C++, as far as the CUDA backend uses it.
// Every translated source (translate.py) includes this first.
//
// The lanes of a block are fibers of one thread. A lane runs until it needs other lanes: those of its warp
// for a shuffle or a vote, those of its block for a barrier. So kernels compute what they do on a GPU, except
// for the order of atomic additions and the last bits of a few approximate instructions. A kernel whose lanes
// wait for each other in vain, or call different operations of the warp at the same time, ends the program.
#include <cuda_runtime_api.h>
#include <vector_functions.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>

#undef __device__
#undef __global__
#undef __host__
#undef __shared__
#undef __launch_bounds__
#undef __noinline__
#define __device__
#define __global__ static
#define __host__
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define __noinline__
#define CUDA_ON_CPU_ARCH 900

namespace cuda_on_cpu {

constexpr int kWarp = 32;

// Of the lane that is running.
inline thread_local uint3 thread_index, block_index;
inline thread_local dim3 block_size, grid_size;

struct Configuration {
  dim3 blocks, threads;
  std::size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
};
void run(const Configuration& configuration, std::function<void()> kernel);  // queues it on its stream
unsigned char* shared_bytes();  // the dynamic shared memory of the block

template <class Kernel, class... Arguments>
void launch(const Configuration& configuration, Kernel kernel, const Arguments&... arguments) {
  run(configuration, [=] { kernel(arguments...); });
}

// Operations of a warp, which all of its lanes must call in the same order.
enum class Operation : unsigned char { kSynchronise, kVote, kShuffle, kMultiply };

constexpr std::size_t kMostExchanged = 32;
using Exchanged = std::byte[kWarp][kMostExchanged];

// Gives a value to the other lanes of the warp, and returns those of all, which are valid until the next
// exchange.
const Exchanged& exchange(Operation operation, unsigned mask, const void* value, std::size_t bytes);

void wait_for_block();
bool is_true_in_block(bool condition);  // for all lanes

template <class T>
T of_lane(unsigned mask, T value, int lane) {
  static_assert(sizeof(T) <= kMostExchanged);
  const Exchanged& all = exchange(Operation::kShuffle, mask, &value, sizeof(T));
  T result;
  std::memcpy(&result, all[lane], sizeof(T));
  return result;
}

inline int lane() { return static_cast<int>(thread_index.x) % kWarp; }

inline unsigned votes(unsigned mask, bool condition) {
  const Exchanged& all = exchange(Operation::kVote, mask, &condition, sizeof(condition));
  unsigned bits = 0;
  for (int i = 0; i < kWarp; ++i) bits |= static_cast<unsigned>(all[i][0] != std::byte{0}) << i;
  return bits;
}

inline float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0f, x) : x; }
inline float exp2(float y) { return flushed(std::exp2(flushed(y))); }
inline float reciprocal(float x) { return flushed(1 / flushed(x)); }

void multiply_add(float (&c)[4], const float (&a)[4], const float (&b)[2]);

}  // namespace cuda_on_cpu

#define threadIdx (cuda_on_cpu::thread_index)
#define blockIdx (cuda_on_cpu::block_index)
#define blockDim (cuda_on_cpu::block_size)
#define gridDim (cuda_on_cpu::grid_size)

inline void __syncthreads() { cuda_on_cpu::wait_for_block(); }
inline bool __syncthreads_and(bool condition) { return cuda_on_cpu::is_true_in_block(condition); }
inline void __syncwarp() {
  cuda_on_cpu::exchange(cuda_on_cpu::Operation::kSynchronise, 0xffffffffu, nullptr, 0);
}
inline void __threadfence() {}
inline unsigned __ballot_sync(unsigned mask, bool condition) { return cuda_on_cpu::votes(mask, condition); }
inline bool __all_sync(unsigned mask, bool condition) {
  return cuda_on_cpu::votes(mask, condition) == 0xffffffffu;
}
template <class T>
T __shfl_sync(unsigned mask, T value, int from) {
  return cuda_on_cpu::of_lane(mask, value, from % cuda_on_cpu::kWarp);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits) {
  return cuda_on_cpu::of_lane(mask, value, cuda_on_cpu::lane() ^ bits);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, int distance) {
  const int lane = cuda_on_cpu::lane();
  return cuda_on_cpu::of_lane(mask, value, lane < distance ? lane : lane - distance);
}

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fsub_rn(float a, float b) { return a - b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __fdividef(float a, float b) { return a / b; }

// Lanes take turns, so that nothing comes between.
template <class T>
T atomicAdd(T* to, T value) {
  const T before = *to;
  *to += value;
  return before;
}
inline float4 atomicAdd(float4* to, float4 value) {
  const float4 before = *to;
  *to = make_float4(before.x + value.x, before.y + value.y, before.z + value.z, before.w + value.w);
  return before;
}

inline int min(int a, int b) { return std::min(a, b); }
inline int max(int a, int b) { return std::max(a, b); }
inline unsigned min(unsigned a, unsigned b) { return std::min(a, b); }
inline unsigned max(unsigned a, unsigned b) { return std::max(a, b); }

using std::isfinite;

template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
