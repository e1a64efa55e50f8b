// SPDX-License-Identifier: Apache-2.0
#include "tests/helpers/fake_cuda.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <string_view>

namespace stipple::fake_cuda {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "the driver forbids this: %s\n", what);
  std::abort();
}

struct Fake {
  std::recursive_mutex mutex;
  int file = ::memfd_create("pages", 0);
  std::size_t device_bytes = std::numeric_limits<std::size_t>::max(), used_bytes = 0, waits = 0;
  std::size_t calls_before_failure = 0;  // 0: none fails
  CUresult failure = CUDA_SUCCESS;
  CUmemGenericAllocationHandle page_count = 0;                   // that the file has
  std::set<CUmemGenericAllocationHandle> pages, gone, in_place;  // that exist, did, and are mapped
  std::map<CUdeviceptr, std::size_t> ranges;
  std::map<CUdeviceptr, CUmemGenericAllocationHandle> mapped;
  std::map<void*, std::size_t> blocks;
  std::map<std::byte*, std::size_t> registered;  // memory of the host

  bool fails() { return calls_before_failure > 0 && --calls_before_failure == 0; }
  bool has_room(std::size_t bytes) const {
    return bytes <= device_bytes && used_bytes <= device_bytes - bytes;
  }
};

Fake& fake() {
  static Fake instance;
  return instance;
}

void* at(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// Addresses that nobody may access.
void forbid(CUdeviceptr address, std::size_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  require(::mmap(at(address), bytes, PROT_NONE, kFlags, -1, 0) == at(address), "mmap");
}

CUresult get_attribute(int* value, CUdevice_attribute, CUdevice) {
  *value = 1;
  return CUDA_SUCCESS;
}

CUresult get_granularity(std::size_t* bytes, const CUmemAllocationProp*, CUmemAllocationGranularity_flags) {
  *bytes = kPageBytes;
  return CUDA_SUCCESS;
}

CUresult reserve(CUdeviceptr* address, std::size_t bytes, std::size_t alignment, CUdeviceptr,
                 unsigned long long) {
  const std::lock_guard lock(fake().mutex);
  if (fake().fails()) return fake().failure;
  require(bytes > 0 && bytes % kPageBytes == 0, "reserving a part of a page");
  void* start =
      ::mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(start != MAP_FAILED, "mmap");
  *address = (reinterpret_cast<CUdeviceptr>(start) + alignment - 1) / alignment * alignment;
  fake().ranges[*address] = bytes;
  return CUDA_SUCCESS;
}

CUresult free_addresses(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(fake().mutex);
  const auto range = fake().ranges.find(address);
  require(range != fake().ranges.end() && range->second == bytes, "freeing a part of a range");
  const auto first = fake().mapped.lower_bound(address);
  require(first == fake().mapped.end() || first->first >= address + bytes, "freeing a range with pages");
  fake().ranges.erase(range);
  ::munmap(at(address), bytes);
  return CUDA_SUCCESS;
}

CUresult create(CUmemGenericAllocationHandle* page, std::size_t bytes, const CUmemAllocationProp*,
                unsigned long long) {
  const std::lock_guard lock(fake().mutex);
  Fake& f = fake();
  if (f.fails()) return f.failure;
  require(bytes == kPageBytes, "a page of another size");
  if (!f.has_room(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  if (f.gone.empty()) {
    *page = f.page_count++;
    require(::ftruncate(f.file, static_cast<off_t>(f.page_count * kPageBytes)) == 0, "ftruncate");
  } else {
    *page = *f.gone.begin();
    f.gone.erase(*page);
  }
  f.pages.insert(*page);
  f.used_bytes += bytes;
  return CUDA_SUCCESS;
}

CUresult release(CUmemGenericAllocationHandle page) {
  const std::lock_guard lock(fake().mutex);
  require(fake().pages.erase(page) == 1, "releasing a page that does not exist");
  require(!fake().in_place.contains(page), "releasing a page that is mapped");
  fake().gone.insert(page);
  fake().used_bytes -= kPageBytes;
  return CUDA_SUCCESS;
}

CUresult map(CUdeviceptr address, std::size_t bytes, std::size_t offset, CUmemGenericAllocationHandle page,
             unsigned long long) {
  const std::lock_guard lock(fake().mutex);
  Fake& f = fake();
  if (f.fails()) return f.failure;
  require(bytes == kPageBytes && offset == 0 && f.pages.contains(page), "mapping what is no page");
  require(!f.mapped.contains(address), "mapping where a page is");
  const auto behind = f.ranges.upper_bound(address);
  require(behind != f.ranges.begin(), "mapping outside of a range");
  const auto range = std::prev(behind);
  require(address + bytes <= range->first + range->second, "mapping outside of a range");
  require(f.in_place.insert(page).second, "mapping a page twice");
  require(::mmap(at(address), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, f.file,
                 static_cast<off_t>(page * kPageBytes)) == at(address),
          "mmap");
  f.mapped[address] = page;
  return CUDA_SUCCESS;
}

CUresult unmap(CUdeviceptr address, std::size_t bytes) {
  const std::lock_guard lock(fake().mutex);
  const auto page = fake().mapped.find(address);
  require(bytes == kPageBytes && page != fake().mapped.end(), "unmapping what is not mapped");
  fake().in_place.erase(page->second);
  fake().mapped.erase(page);
  forbid(address, bytes);
  return CUDA_SUCCESS;
}

CUresult set_access(CUdeviceptr address, std::size_t bytes, const CUmemAccessDesc*, std::size_t) {
  const std::lock_guard lock(fake().mutex);
  if (fake().fails()) return fake().failure;
  require(bytes > 0, "no pages");
  for (std::size_t i = 0; i < bytes; i += kPageBytes)
    require(fake().mapped.contains(address + i), "access where no page is");
  require(::mprotect(at(address), bytes, PROT_READ | PROT_WRITE) == 0, "mprotect");
  return CUDA_SUCCESS;
}

void* find(std::string_view name) {
  const auto pointer = [](auto* function) { return reinterpret_cast<void*>(function); };
  if (name == "cuDeviceGetAttribute") return pointer(get_attribute);
  if (name == "cuMemGetAllocationGranularity") return pointer(get_granularity);
  if (name == "cuMemAddressReserve") return pointer(reserve);
  if (name == "cuMemAddressFree") return pointer(free_addresses);
  if (name == "cuMemCreate") return pointer(create);
  if (name == "cuMemRelease") return pointer(release);
  if (name == "cuMemMap") return pointer(map);
  if (name == "cuMemUnmap") return pointer(unmap);
  return name == "cuMemSetAccess" ? pointer(set_access) : nullptr;
}

}  // namespace

Counts counts() {
  const std::lock_guard lock(fake().mutex);
  const Fake& f = fake();
  std::size_t registered_bytes = 0;
  for (const auto& [address, bytes] : f.registered) registered_bytes += bytes;
  return {f.used_bytes,    f.pages.size(), f.mapped.size(),     f.ranges.size(),
          f.blocks.size(), f.waits,        f.registered.size(), registered_bytes};
}

void set_device_bytes(std::size_t bytes) { fake().device_bytes = bytes; }

void fail_call(std::size_t which, bool as_out_of_memory) {
  fake().calls_before_failure = which;
  fake().failure = as_out_of_memory ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_NOT_SUPPORTED;
}

void fail_no_call() { fake().calls_before_failure = 0; }

void count_wait() {
  const std::lock_guard lock(fake().mutex);
  ++fake().waits;
}

void forget_block(void* data) {
  const std::lock_guard lock(fake().mutex);
  const auto block = fake().blocks.find(data);
  fake().used_bytes -= block->second;
  fake().blocks.erase(block);
}

}  // namespace stipple::fake_cuda

using stipple::fake_cuda::fake;

#define REPLACEABLE __attribute__((weak))

extern "C" {

#if CUDART_VERSION >= 12050
cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
#else
cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* result) {
#endif
  *function = stipple::fake_cuda::find(name);
  *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void** data, std::size_t bytes, cudaMemPool_t, cudaStream_t) {
  const std::lock_guard lock(fake().mutex);
  if (!fake().has_room(bytes)) return cudaErrorMemoryAllocation;
  *data = std::malloc(bytes);
  std::memset(*data, 0xcd, bytes);
  fake().blocks[*data] = bytes;
  fake().used_bytes += bytes;
  return cudaSuccess;
}

REPLACEABLE cudaError_t cudaFreeAsync(void* data, cudaStream_t) {
  stipple::fake_cuda::forget_block(data);
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute != cudaDevAttrIntegrated;
  return cudaSuccess;
}

// Reads and writes every page, as CUDA does when it pins them.
cudaError_t cudaHostRegister(void* data, std::size_t bytes, unsigned) {
  const std::lock_guard lock(fake().mutex);
  if (fake().fails())
    return fake().failure == CUDA_ERROR_OUT_OF_MEMORY ? cudaErrorMemoryAllocation : cudaErrorUnknown;
  auto* const start = static_cast<std::byte*>(data);
  auto& registered = fake().registered;
  const auto behind = registered.lower_bound(start);
  stipple::fake_cuda::require(behind == registered.end() || start + bytes <= behind->first,
                              "registering memory twice");
  stipple::fake_cuda::require(
      behind == registered.begin() || std::prev(behind)->first + std::prev(behind)->second <= start,
      "registering memory twice");
  for (std::size_t i = 0; i < bytes; i += 4096) start[i] = start[i];
  registered[start] = bytes;
  return cudaSuccess;
}

cudaError_t cudaHostUnregister(void* data) {
  const std::lock_guard lock(fake().mutex);
  stipple::fake_cuda::require(fake().registered.erase(static_cast<std::byte*>(data)) == 1,
                              "unregistering what is not registered");
  return cudaSuccess;
}

REPLACEABLE cudaError_t cudaStreamSynchronize(cudaStream_t) {
  stipple::fake_cuda::count_wait();
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int) { return cudaSuccess; }
REPLACEABLE cudaError_t cudaStreamCreateWithFlags(cudaStream_t*, unsigned) { return cudaSuccess; }
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;
  return cudaSuccess;
}
REPLACEABLE cudaError_t cudaDeviceSynchronize() {
  stipple::fake_cuda::count_wait();
  return cudaSuccess;
}
REPLACEABLE cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
REPLACEABLE cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
REPLACEABLE cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned) { return cudaSuccess; }
REPLACEABLE cudaError_t cudaEventCreateWithFlags(cudaEvent_t*, unsigned) { return cudaSuccess; }
REPLACEABLE cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t) { return cudaSuccess; }
REPLACEABLE cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
cudaError_t cudaMemPoolCreate(cudaMemPool_t*, const cudaMemPoolProps*) { return cudaSuccess; }
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }
cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
  *data = std::malloc(bytes);
  return cudaSuccess;
}
cudaError_t cudaFreeHost(void* data) {
  std::free(data);
  return cudaSuccess;
}
cudaError_t cudaFree(void*) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t) { return "an error"; }

}  // extern "C"
