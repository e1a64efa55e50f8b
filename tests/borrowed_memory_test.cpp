// SPDX-License-Identifier: Apache-2.0
// Borrowed host memory: each array ends at a protected page, so that any access past its end crashes.
#include "tests/helpers/borrowed_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace stipple {

namespace {

class GuardedBlocks {
 public:
  GuardedBlocks() = default;
  GuardedBlocks(const GuardedBlocks&) = delete;
  GuardedBlocks& operator=(const GuardedBlocks&) = delete;
  ~GuardedBlocks() {
    for (const Block& b : blocks_) ::munmap(b.start, b.size);
  }
  void* allocate(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t used = (bytes + page - 1) / page * page;
    auto* start = static_cast<std::byte*>(
        ::mmap(nullptr, used + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ::mprotect(start + used, page, PROT_NONE);
    blocks_.push_back({start, used + page});
    return start + used - bytes;
  }

 private:
  struct Block {
    void* start;
    std::size_t size;
  };
  std::vector<Block> blocks_;
};

class BorrowedMemory : public testing::TestWithParam<int> {};  // the number of Gaussians

TEST_P(BorrowedMemory, StagesStayWithinIt) {
  GuardedBlocks blocks;
  expect_stages_stay_within_borrowed_memory("cpu", static_cast<std::size_t>(GetParam()), blocks);
}

INSTANTIATE_TEST_SUITE_P(Counts, BorrowedMemory, testing::Values(1, 15, 16, 17, 203),
                         testing::PrintToStringParamName());

}  // namespace

}  // namespace stipple
