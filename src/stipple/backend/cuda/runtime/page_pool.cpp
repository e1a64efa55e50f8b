// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cuda/runtime/page_pool.h"

#include <iterator>
#include <new>

namespace stipple::cuda {

// The functions of the driver, found at run time: nothing links to it, so that the program also starts on
// machines without one.
struct PagePool::Driver {
  decltype(&::cuDeviceGetAttribute) get_attribute = nullptr;
  decltype(&::cuMemGetAllocationGranularity) get_granularity = nullptr;
  decltype(&::cuMemAddressReserve) reserve = nullptr;
  decltype(&::cuMemAddressFree) free_addresses = nullptr;
  decltype(&::cuMemCreate) create = nullptr;
  decltype(&::cuMemRelease) release = nullptr;
  decltype(&::cuMemMap) map = nullptr;
  decltype(&::cuMemUnmap) unmap = nullptr;
  decltype(&::cuMemSetAccess) set_access = nullptr;

  bool find() {
    return find("cuDeviceGetAttribute", get_attribute) &&
           find("cuMemGetAllocationGranularity", get_granularity) && find("cuMemAddressReserve", reserve) &&
           find("cuMemAddressFree", free_addresses) && find("cuMemCreate", create) &&
           find("cuMemRelease", release) && find("cuMemMap", map) && find("cuMemUnmap", unmap) &&
           find("cuMemSetAccess", set_access);
  }

 private:
  template <class Function>
  static bool find(const char* name, Function& function) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    constexpr unsigned kVersion = 12000;
    const cudaError_t status =
        cudaGetDriverEntryPointByVersion(name, &found, kVersion, cudaEnableDefault, &result);
#else
    const cudaError_t status = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
    if (status != cudaSuccess) cudaGetLastError();
    function = reinterpret_cast<Function>(found);
    return status == cudaSuccess && result == cudaDriverEntryPointSuccess && found;
  }
};

namespace {

constexpr std::size_t kLeastPageBytes = std::size_t{2} << 20;

CUmemAllocationProp page_properties(int device) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = device;
  return properties;
}

std::size_t rounded_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

}  // namespace

std::unique_ptr<PagePool> PagePool::make(int device, cudaStream_t stream, std::size_t most_bytes) {
  Driver driver;
  int is_supported = 0;
  std::size_t granularity = 0;
  const CUmemAllocationProp properties = page_properties(device);
  if (!driver.find() ||
      driver.get_attribute(&is_supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) !=
          CUDA_SUCCESS ||
      !is_supported ||
      driver.get_granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS ||
      granularity == 0)
    return nullptr;
  const std::size_t page_bytes = rounded_up(kLeastPageBytes, granularity);
  return std::unique_ptr<PagePool>(
      new PagePool(driver, device, stream, page_bytes, rounded_up(most_bytes, page_bytes)));
}

PagePool::PagePool(const Driver& driver, int device, cudaStream_t stream, std::size_t page_bytes,
                   std::size_t reserved_bytes)
    : driver_(std::make_unique<Driver>(driver)),
      device_(device),
      stream_(stream),
      page_bytes_(page_bytes),
      reserved_bytes_(reserved_bytes) {}

PagePool::~PagePool() { trim(0); }

CUresult PagePool::allocate(std::size_t page_count, Block& block) {
  const std::lock_guard lock(mutex_);
  auto best = choose_freed(page_count);
  if (best == freed_.end()) {
    if (const CUresult result = reserve_addresses(); result != CUDA_SUCCESS) return result;
    best = std::prev(freed_.end());
  }
  best->pages.reserve(page_count);
  blocks_.splice(blocks_.end(), freed_, best);  // now its own pages are not taken
  const CUresult result = set_page_count(*best, page_count);
  if (result != CUDA_SUCCESS) freed_.splice(freed_.end(), blocks_, best);
  block = best;
  return result;
}

// The freed block with the most pages that are not too many, or, if these are far too few, the one with the
// fewest that are enough.
PagePool::Block PagePool::choose_freed(std::size_t page_count) {
  auto below = freed_.end(), above = freed_.end();
  for (auto it = freed_.begin(); it != freed_.end(); ++it) {
    const std::size_t count = it->pages.size();
    if (count <= page_count && (below == freed_.end() || count > below->pages.size())) below = it;
    if (count > page_count && (above == freed_.end() || count < above->pages.size())) above = it;
  }
  const bool is_close = below != freed_.end() && below->pages.size() >= page_count - page_count / 4;
  return is_close || above == freed_.end() ? below : above;
}

CUresult PagePool::resize(Block block, std::size_t page_count) {
  const std::lock_guard lock(mutex_);
  if (page_count > reserved_bytes_ / page_bytes_) return CUDA_ERROR_OUT_OF_MEMORY;
  return set_page_count(*block, page_count);
}

void PagePool::free(Block block) noexcept {
  const std::lock_guard lock(mutex_);
  freed_.splice(freed_.end(), blocks_, block);
}

// Adds a freed block without pages.
CUresult PagePool::reserve_addresses() {
  freed_.emplace_back();
  const CUresult result = driver_->reserve(&freed_.back().address, reserved_bytes_, page_bytes_, 0, 0);
  if (result != CUDA_SUCCESS) freed_.pop_back();
  return result;
}

CUresult PagePool::set_page_count(Range& range, std::size_t page_count) {
  return page_count < range.pages.size() ? shrink(range, page_count) : grow(range, page_count);
}

CUresult PagePool::grow(Range& range, std::size_t page_count) {
  const std::size_t before = range.pages.size();
  if (page_count == before) return CUDA_SUCCESS;
  range.pages.reserve(page_count);
  CUresult result = CUDA_SUCCESS;
  while (result == CUDA_SUCCESS && range.pages.size() < page_count) {
    CUmemGenericAllocationHandle page{};
    result = take_page(page);
    if (result == CUDA_SUCCESS) range.pages.push_back(page);
  }
  if (result == CUDA_SUCCESS) result = map_from(range, before);
  if (result == CUDA_SUCCESS) return result;
  for (; range.pages.size() > before; range.pages.pop_back()) keep(range.pages.back());
  return result;
}

CUresult PagePool::shrink(Range& range, std::size_t page_count) {
  if (cudaStreamSynchronize(stream_) != cudaSuccess) return CUDA_ERROR_UNKNOWN;
  unmap_from(range, page_count);
  return CUDA_SUCCESS;
}

CUresult PagePool::take_page(CUmemGenericAllocationHandle& page) {
  // Freed blocks keep their pages as long as there is memory for others: a step wants its buffers again.
  if (free_pages_.empty()) {
    const bool may_make = page_count_ < reserved_bytes_ / page_bytes_;
    const CUresult result = may_make ? make_page(page) : CUDA_ERROR_OUT_OF_MEMORY;
    if (result != CUDA_ERROR_OUT_OF_MEMORY || !reclaim_freed()) return result;
  }
  page = free_pages_.back();
  free_pages_.pop_back();
  return CUDA_SUCCESS;
}

CUresult PagePool::make_page(CUmemGenericAllocationHandle& page) {
  try {  // with room for all pages, keep() never allocates
    if (free_pages_.capacity() <= page_count_) free_pages_.reserve(2 * page_count_ + 64);
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
  const CUmemAllocationProp properties = page_properties(device_);
  const CUresult result = driver_->create(&page, page_bytes_, &properties, 0);
  page_count_ += result == CUDA_SUCCESS;
  return result;
}

// Maps the pages of the range from number `first` on, or none.
CUresult PagePool::map_from(const Range& range, std::size_t first) {
  const auto address = [&](std::size_t i) { return range.address + i * page_bytes_; };
  const std::size_t end = range.pages.size();
  std::size_t i = first;
  CUresult result = CUDA_SUCCESS;
  for (; i < end && result == CUDA_SUCCESS; i += result == CUDA_SUCCESS)
    result = driver_->map(address(i), page_bytes_, 0, range.pages[i], 0);
  if (result == CUDA_SUCCESS) {
    CUmemAccessDesc access{};
    access.location = page_properties(device_).location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    result = driver_->set_access(address(first), (end - first) * page_bytes_, &access, 1);
  }
  if (result != CUDA_SUCCESS)
    while (i > first) driver_->unmap(address(--i), page_bytes_);
  return result;
}

// The device must have finished its work on these pages.
void PagePool::unmap_from(Range& range, std::size_t first) noexcept {
  for (std::size_t i = range.pages.size(); i > first; --i) {
    driver_->unmap(range.address + (i - 1) * page_bytes_, page_bytes_);
    keep(range.pages[i - 1]);
  }
  range.pages.resize(first);
}

// Takes the pages of the freed block that has the fewest; false if there are none left.
bool PagePool::reclaim_freed() noexcept {
  auto least = freed_.end();
  for (auto it = freed_.begin(); it != freed_.end(); ++it)
    if (!it->pages.empty() && (least == freed_.end() || it->pages.size() < least->pages.size())) least = it;
  if (least == freed_.end()) return false;
  cudaStreamSynchronize(stream_);  // if it fails, the device is lost, and no page is used any more
  unmap_from(*least, 0);
  return true;
}

void PagePool::trim(std::size_t most_kept_bytes) noexcept {
  const std::lock_guard lock(mutex_);
  std::size_t kept = free_pages_.size();
  for (const Range& range : freed_) kept += range.pages.size();
  for (; kept > most_kept_bytes / page_bytes_ && (!free_pages_.empty() || reclaim_freed()); --kept) {
    driver_->release(free_pages_.back());
    free_pages_.pop_back();
    --page_count_;
  }
  // Addresses cost nothing, but a process has only so many.
  for (auto range = freed_.begin(); range != freed_.end();) {
    if (range->pages.empty()) {
      driver_->free_addresses(range->address, reserved_bytes_);
      range = freed_.erase(range);
    } else {
      ++range;
    }
  }
}

}  // namespace stipple::cuda
