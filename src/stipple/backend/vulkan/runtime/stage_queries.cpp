// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/vulkan/runtime/stage_queries.h"

namespace stipple::vulkan {

StageQueries::~StageQueries() {
  if (pool_ == VK_NULL_HANDLE) return;
  Commands commands(*context_);
  try {
    commands.finish();
  } catch (const Error&) {  // of a lost device
  }
  vkDestroyQueryPool(commands.device(), pool_, nullptr);
}

void StageQueries::begin() {
  is_timed_ = context_->abilities().timestamp_ns > 0 && pass_count_++ % kEvery == 0;
  count_ = 0;
  if (!is_timed_) return;
  Commands commands(*context_);
  if (pool_ == VK_NULL_HANDLE) {
    VkQueryPoolCreateInfo info{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
    info.queryType = VK_QUERY_TYPE_TIMESTAMP;
    info.queryCount = kMost;
    check(vkCreateQueryPool(commands.device(), &info, nullptr, &pool_), "create timestamps");
  }
  commands.reset_timestamps(pool_, kMost);
  record(Stage::kPhoto);
}

void StageQueries::record(Stage stage) {
  if (!is_timed_ || count_ == kMost) return;
  stage_[count_] = stage;
  Commands(*context_).write_timestamp(pool_, count_++);
}

const StageTimes& StageQueries::read() {
  if (!is_timed_) return ms_;
  is_timed_ = false;
  ms_ = {};
  std::array<std::uint64_t, kMost> ticks{};
  const VkResult result = vkGetQueryPoolResults(Commands(*context_).device(), pool_, 0, count_, sizeof(ticks),
                                                ticks.data(), sizeof(ticks[0]), VK_QUERY_RESULT_64_BIT);
  if (result != VK_SUCCESS) return ms_;
  for (std::uint32_t i = 1; i < count_; ++i)
    ms_[static_cast<std::size_t>(stage_[i])] +=
        static_cast<double>((ticks[i] - ticks[i - 1]) & context_->abilities().timestamp_mask) *
        context_->abilities().timestamp_ns * 1e-6;
  return ms_;
}

}  // namespace stipple::vulkan
