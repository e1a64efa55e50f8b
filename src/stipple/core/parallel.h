// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>

namespace stipple {

// Calls body(begin, end) on all cores, for disjoint ranges that together cover [0, count). A range longer
// than `grain` elements may be halved. The boundaries depend on timing, so results must not depend on them.
void parallel_ranges(std::size_t count, std::size_t grain,
                     const std::function<void(std::size_t, std::size_t)>& body);

// Calls body(i) for every i in [0, count), on all cores, in any order.
template <class Body>
void parallel_for(std::size_t count, const Body& body, std::size_t grain = 1) {
  parallel_ranges(count, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

// For loops that compute a result for each chunk of `size` elements. Unlike the ranges above, chunks depend
// on the count alone, so results may depend on their boundaries.
inline std::size_t chunk_count(std::size_t count, std::size_t size) { return (count + size - 1) / size; }

// Calls body(chunk, begin, end) for every chunk of [0, count), on all cores, in any order.
template <class Body>
void parallel_chunks(std::size_t count, std::size_t size, const Body& body) {
  parallel_for(chunk_count(count, size),
               [&](std::size_t chunk) { body(chunk, chunk * size, std::min(count, (chunk + 1) * size)); });
}

// Runs `body` and limits the parallel loops inside it to `count` threads; for tests and benchmarks.
void with_threads(int count, const std::function<void()>& body);

// The number of threads that parallel loops use in this context.
int thread_count();

}  // namespace stipple
