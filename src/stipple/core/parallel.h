// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <functional>

namespace stipple {

// Calls body(begin, end) for disjoint ranges that together are [0, count), on all cores. A range
// longer than `grain` elements may be halved. How they are cut depends on timing: results must not depend on
// it.
void parallel_ranges(std::size_t count, std::size_t grain,
                     const std::function<void(std::size_t, std::size_t)>& body);

// Calls body(i) for every i in [0, count), on all cores, in any order.
template <class Body>
void parallel_for(std::size_t count, const Body& body, std::size_t grain = 1) {
  parallel_ranges(count, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) body(i);
  });
}

// For loops that leave something behind for every chunk of `size` elements: chunks depend on the count alone,
// and so then may results.
inline std::size_t chunk_count(std::size_t count, std::size_t size) { return (count + size - 1) / size; }

// Calls body(chunk, begin, end) for every chunk of [0, count), on all cores, in any order.
template <class Body>
void parallel_chunks(std::size_t count, std::size_t size, const Body& body) {
  parallel_for(chunk_count(count, size),
               [&](std::size_t chunk) { body(chunk, chunk * size, std::min(count, (chunk + 1) * size)); });
}

// Runs `body` with at most this many threads in all parallel loops inside it; for tests and benchmarks.
void with_threads(int count, const std::function<void()>& body);

// How many threads parallel loops use here.
int thread_count();

}  // namespace stipple
