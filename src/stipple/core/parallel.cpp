// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/parallel.h"

#include <algorithm>

// TBB is not instrumented for the thread sanitizer, which therefore cannot see how it synchronises threads
// and would report races that do not exist. Sanitizer builds use plain threads instead.
#if defined(__SANITIZE_THREAD__)
#define STIPPLE_PLAIN_THREADS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define STIPPLE_PLAIN_THREADS 1
#endif
#endif

#ifndef STIPPLE_PLAIN_THREADS

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

namespace stipple {

void parallel_ranges(std::size_t count, std::size_t grain,
                     const std::function<void(std::size_t, std::size_t)>& body) {
  using Range = tbb::blocked_range<std::size_t>;
  tbb::parallel_for(Range(0, count, std::max<std::size_t>(grain, 1)),
                    [&](const Range& range) { body(range.begin(), range.end()); });
}

void with_threads(int count, const std::function<void()>& body) {
  // More threads than cores are allowed, so that tests can request five on a small machine.
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(count));
  tbb::task_arena arena(count);
  arena.execute(body);
}

int thread_count() { return tbb::this_task_arena::max_concurrency(); }

}  // namespace stipple

#else

#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace stipple {

namespace {
int threads = 4;
}

void parallel_ranges(std::size_t count, std::size_t grain,
                     const std::function<void(std::size_t, std::size_t)>& body) {
  const std::size_t step = std::max<std::size_t>(grain, 1);
  std::atomic<std::size_t> next = 0;
  std::exception_ptr failure;
  std::mutex mutex;
  auto work = [&] {
    try {
      // Relaxed, because ordering the ranges of two threads would hide their races from the sanitizer.
      for (std::size_t begin; (begin = next.fetch_add(step, std::memory_order_relaxed)) < count;)
        body(begin, std::min(count, begin + step));
    } catch (...) {
      std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  };
  std::vector<std::thread> workers;
  for (int i = 1; i < threads; ++i) workers.emplace_back(work);
  work();
  for (std::thread& worker : workers) worker.join();
  if (failure) std::rethrow_exception(failure);
}

void with_threads(int count, const std::function<void()>& body) {
  struct Restore {
    int before = threads;
    ~Restore() { threads = before; }
  } restore;
  threads = count;
  body();
}

int thread_count() { return threads; }

}  // namespace stipple

#endif
