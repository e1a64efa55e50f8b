// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/pass.h"
#include "stipple/backend/vulkan/runtime/context.h"

namespace stipple::vulkan {

// Times the stages of every eighth pass with timestamps.
class StageQueries {
 public:
  explicit StageQueries(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~StageQueries();
  StageQueries(const StageQueries&) = delete;
  StageQueries& operator=(const StageQueries&) = delete;

  void begin();
  void stop() { is_timed_ = false; }  // a pass that is never read is not timed
  void record(Stage stage);           // marks the end of `stage`
  const StageTimes& read();           // of the last timed pass; all work must be done

 private:
  static constexpr std::uint32_t kMost =
      32;  // timestamps per pass; in a large batch, only the first views count
  static constexpr unsigned kEvery = 8;

  std::shared_ptr<Context> context_;
  VkQueryPool pool_ = VK_NULL_HANDLE;
  std::array<Stage, kMost> stage_{};
  std::uint32_t count_ = 0;
  bool is_timed_ = false;
  unsigned pass_count_ = 0;
  StageTimes ms_{};
};

}  // namespace stipple::vulkan
