// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/parallel.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

namespace stipple {

void parallel_ranges(std::size_t count, std::size_t grain,
                     const std::function<void(std::size_t, std::size_t)>& body) {
  using Range = tbb::blocked_range<std::size_t>;
  tbb::parallel_for(Range(0, count, std::max<std::size_t>(grain, 1)),
                    [&](const Range& range) { body(range.begin(), range.end()); });
}

void with_threads(int count, const std::function<void()>& body) {
  // More threads than cores are allowed, so that a test on a small machine can still ask for five.
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count));
  tbb::task_arena arena(count);
  arena.execute(body);
}

int thread_count() { return tbb::this_task_arena::max_concurrency(); }

}  // namespace stipple
