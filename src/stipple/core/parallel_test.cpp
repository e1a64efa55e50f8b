// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace stipple {
namespace {

TEST(Parallel, VisitsEveryIndexOnce) {
  for (std::size_t count : {0, 1, 7, 1000, 100003}) {
    std::vector<std::atomic<int>> visits(count);
    parallel_for(
        count, [&](std::size_t i) { ++visits[i]; }, 16);
    for (const auto& v : visits) ASSERT_EQ(v, 1);
  }
}

TEST(Parallel, RangesRespectTheGrain) {
  std::atomic<std::size_t> covered = 0;
  parallel_ranges(10000, 100, [&](std::size_t begin, std::size_t end) {
    EXPECT_GE(end - begin, 50u);  // a range is halved only while it is longer than the grain
    covered += end - begin;
  });
  EXPECT_EQ(covered, 10000u);
}

TEST(Parallel, ChunksCoverEverythingAtFixedBoundaries) {
  for (std::size_t count : {0, 1, 99, 100, 101, 1234}) {
    std::vector<std::size_t> sizes(chunk_count(count, 100), 0);
    parallel_chunks(count, 100, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
      EXPECT_EQ(begin, chunk * 100);
      sizes[chunk] = end - begin;
    });
    EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}), count);
  }
}

TEST(Parallel, UsesTheRequestedNumberOfThreads) {
  for (int threads : {1, 2, 5}) with_threads(threads, [&] { EXPECT_EQ(thread_count(), threads); });
}

TEST(Parallel, ExceptionsReachTheCaller) {
  EXPECT_THROW(parallel_for(100,
                            [](std::size_t i) {
                              if (i == 50) throw std::runtime_error("stop");
                            }),
               std::runtime_error);
}

}  // namespace
}  // namespace stipple
