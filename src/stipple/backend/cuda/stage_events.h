// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/device_memory.h"

namespace stipple {

// CUDA's own clock, between the stages.
class StageEvents {
 public:
  StageEvents() {
    for (cudaEvent_t& e : event_) check(cudaEventCreate(&e), "make an event");
  }
  StageEvents(const StageEvents&) = delete;
  StageEvents& operator=(const StageEvents&) = delete;
  ~StageEvents() {
    for (cudaEvent_t e : event_) cudaEventDestroy(e);
  }
  void begin(cudaStream_t stream) {
    count_ = 0;
    record(Stage::kPhoto, stream);
  }
  void record(Stage stage, cudaStream_t stream) {  // that it is over
    stage_[count_] = stage;
    check(cudaEventRecord(event_[count_++], stream), "record an event");
  }
  void read(StageTimes& ms) const {  // when all is done
    for (int i = 1; i < count_; ++i) {
      float elapsed = 0;
      check(cudaEventElapsedTime(&elapsed, event_[i - 1], event_[i]), "read an event");
      ms[static_cast<std::size_t>(stage_[i])] += static_cast<double>(elapsed);
    }
  }

 private:
  static constexpr int kMost = static_cast<int>(Stage::kCount) + 1;
  cudaEvent_t event_[kMost] = {};
  Stage stage_[kMost] = {};
  int count_ = 0;
};

}  // namespace stipple
