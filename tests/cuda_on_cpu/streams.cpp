// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda_on_cpu/streams.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/helpers/fake_cuda.h"

namespace cuda_on_cpu {

namespace {

struct Stream {
  std::deque<std::function<void()>> work;
  std::size_t done = 0;
  bool is_beside = false;

  std::size_t end() const { return done + work.size(); }
  void finish(std::size_t end) {
    while (done < end) {
      const std::function<void()> next = std::move(work.front());
      work.pop_front();
      ++done;
      next();
    }
  }
};

struct Event {  // a place in the work of a stream; none if it has not been recorded
  std::shared_ptr<Stream> stream;
  std::size_t end = 0;
};

// Threads take turns.
struct Device {
  std::recursive_mutex mutex;
  std::map<cudaStream_t, std::shared_ptr<Stream>> streams;
  std::vector<std::shared_ptr<Stream>> destroyed;  // with work that is still to be done

  std::shared_ptr<Stream> stream(cudaStream_t handle) {
    const auto found = streams.find(handle);
    if (found == streams.end()) {
      std::fprintf(stderr, "work on a stream that does not exist\n");
      std::abort();
    }
    return found->second;
  }
  // What nobody can wait for any more happens at some time.
  void finish_destroyed() {
    for (const auto& stream : std::exchange(destroyed, {})) stream->finish(stream->end());
  }
};

Device& device() {
  static Device instance;
  return instance;
}

Event& as_event(cudaEvent_t event) { return *reinterpret_cast<Event*>(event); }

}  // namespace

void enqueue(cudaStream_t stream, std::function<void()> work) {
  static const char* const named = std::getenv("STIPPLE_STREAMS");
  static const std::string_view order = named ? named : "late";
  const std::lock_guard lock(device().mutex);
  const std::shared_ptr<Stream> to = device().stream(stream);
  to->work.push_back(std::move(work));
  if (order == "early" || (order == "beside_early" && to->is_beside)) to->finish(to->end());
}

}  // namespace cuda_on_cpu

using namespace cuda_on_cpu;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  const std::lock_guard lock(device().mutex);
  auto made = std::make_shared<Stream>();
  *stream = reinterpret_cast<cudaStream_t>(made.get());
  device().streams[*stream] = std::move(made);
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, 0); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  const std::lock_guard lock(device().mutex);
  cudaStreamCreateWithFlags(stream, flags);
  device().stream(*stream)->is_beside = priority == 0;  // the least
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const std::lock_guard lock(device().mutex);
  device().destroyed.push_back(device().stream(stream));
  device().streams.erase(stream);
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  const std::lock_guard lock(device().mutex);
  const std::shared_ptr<Stream> waited_for = device().stream(stream);
  waited_for->finish(waited_for->end());
  device().finish_destroyed();
  stipple::fake_cuda::count_wait();
  return cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }

cudaError_t cudaDeviceSynchronize() {
  const std::lock_guard lock(device().mutex);
  std::vector<std::shared_ptr<Stream>> all;
  for (const auto& [handle, stream] : device().streams) all.push_back(stream);
  for (const auto& stream : all) stream->finish(stream->end());
  device().finish_destroyed();
  return cudaSuccess;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned) {
  *event = reinterpret_cast<cudaEvent_t>(new Event);
  return cudaSuccess;
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete &as_event(event);
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  const std::lock_guard lock(device().mutex);
  std::shared_ptr<Stream> stream = device().stream(handle);
  const std::size_t end = stream->end();
  as_event(event) = {std::move(stream), end};
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  enqueue(stream, [at = as_event(event)] {
    if (at.stream) at.stream->finish(at.end);
  });
  return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t, cudaEvent_t) {
  *ms = 0;
  return cudaSuccess;
}

}  // extern "C"
