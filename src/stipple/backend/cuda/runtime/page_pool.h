// SPDX-License-Identifier: Apache-2.0
#pragma once
// Memory of an NVIDIA GPU in pages. A range of addresses is reserved for every block, far longer than the
// block, and as many pages are mapped there as it needs. So a block can grow and shrink where it is, and any
// free page can become a part of any block: free memory is never fragmented.
//
// Mapping takes far longer than allocating from an ordinary pool, and a page must not be unmapped while the
// device may use it. Therefore a freed block keeps its pages while there is memory for others, and a block of
// about the same size, as in training, takes them over as they are.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <vector>

namespace stipple::cuda {

class PagePool {
 public:
  // A block: the pages that are mapped from `address` on.
  struct Range {
    CUdeviceptr address = 0;
    std::vector<CUmemGenericAllocationHandle> pages;
  };
  using Block = std::list<Range>::iterator;

  // All work on the memory is queued on the stream. All pages together have at most `most_bytes`. Null if the
  // device or its driver cannot do this.
  static std::unique_ptr<PagePool> make(int device, cudaStream_t stream, std::size_t most_bytes);
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  std::size_t page_bytes() const { return page_bytes_; }
  std::size_t pages_for(std::size_t bytes) const { return (bytes + page_bytes_ - 1) / page_bytes_; }

  // These return CUDA_SUCCESS, or an error of the driver if nothing has changed. What new pages hold is
  // undefined. Any thread may call them, with the device of the pool selected.
  CUresult allocate(std::size_t page_count, Block& block);
  CUresult resize(Block block, std::size_t page_count);
  void free(Block block) noexcept;

  // Gives free pages back to the device, except for so many bytes.
  void trim(std::size_t most_kept_bytes) noexcept;

 private:
  struct Driver;

  PagePool(const Driver& driver, int device, cudaStream_t stream, std::size_t page_bytes,
           std::size_t reserved_bytes);
  Block choose_freed(std::size_t page_count);
  CUresult reserve_addresses();
  CUresult set_page_count(Range& range, std::size_t page_count);
  CUresult grow(Range& range, std::size_t page_count);
  CUresult shrink(Range& range, std::size_t page_count);
  CUresult take_page(CUmemGenericAllocationHandle& page);
  CUresult make_page(CUmemGenericAllocationHandle& page);
  CUresult map_from(const Range& range, std::size_t first);
  void unmap_from(Range& range, std::size_t first) noexcept;
  bool reclaim_freed() noexcept;
  void keep(CUmemGenericAllocationHandle page) noexcept { free_pages_.push_back(page); }

  std::unique_ptr<Driver> driver_;
  int device_;
  cudaStream_t stream_;
  std::size_t page_bytes_, reserved_bytes_;
  std::mutex mutex_;
  std::list<Range> blocks_, freed_;                       // freed blocks still have their pages
  std::vector<CUmemGenericAllocationHandle> free_pages_;  // mapped nowhere; its capacity is that of all pages
  std::size_t page_count_ = 0;                            // of all pages
};

}  // namespace stipple::cuda
