// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/cuda/runtime/device_memory.h"
#include "stipple/backend/pass.h"

namespace stipple::cuda {

// Times the stages of every eighth pass with CUDA events: recording one takes as long as a small stage.
class StageEvents {
 public:
  StageEvents() = default;
  StageEvents(const StageEvents&) = delete;
  StageEvents& operator=(const StageEvents&) = delete;
  ~StageEvents() {
    for (cudaEvent_t e : event_)
      if (e) cudaEventDestroy(e);
  }
  void begin(cudaStream_t stream) {
    is_timed_ = pass_count_++ % kEvery == 0;
    count_ = 0;
    record(Stage::kPhoto, stream);
  }
  void stop() {  // a pass that is never read is not timed
    is_timed_ = false;
    count_ = 0;
  }
  void record(Stage stage, cudaStream_t stream) {  // marks the end of `stage`
    if (!is_timed_ || count_ == kMost) return;
    if (!event_[count_]) check(cudaEventCreate(&event_[count_]), "create an event");
    stage_[count_] = stage;
    check(cudaEventRecord(event_[count_++], stream), "record an event");
  }
  const StageTimes& read() {  // of the last timed pass; all work must be done
    if (is_timed_) ms_ = {};
    for (int i = 1; i < count_; ++i) {
      float elapsed = 0;
      check(cudaEventElapsedTime(&elapsed, event_[i - 1], event_[i]), "read an event");
      ms_[static_cast<std::size_t>(stage_[i])] += static_cast<double>(elapsed);
    }
    return ms_;
  }

 private:
  static constexpr int kMost = 32;  // events per pass; in a large batch, only the first views are timed
  static constexpr unsigned kEvery = 8;
  cudaEvent_t event_[kMost] = {};
  Stage stage_[kMost] = {};
  int count_ = 0;
  bool is_timed_ = false;
  unsigned pass_count_ = 0;
  StageTimes ms_{};
};

}  // namespace stipple::cuda
