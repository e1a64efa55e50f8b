// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cpu/shared/channel_group.h"

#include "stipple/core/parallel.h"

namespace stipple::cpu {

const float* load_channel_group(CpuBackend& backend, const Channels& channels,
                                std::span<const std::uint32_t> gaussians, int first,
                                DeviceArray<Vec4f>& group) {
  const auto stride = static_cast<std::size_t>(channels.count);
  const auto count = static_cast<std::size_t>(std::min(kChannelGroup, channels.count - first));
  group.resize(backend, gaussians.size());
  auto values = host(channels.value);
  auto rows = host(group);
  parallel_for(
      rows.size(),
      [&](std::size_t i) {
        float row[kChannelGroup] = {};
        std::copy_n(&values[gaussians[i] * stride + static_cast<std::size_t>(first)], count, row);
        rows[i] = {row[0], row[1], row[2], row[3]};
      },
      1 << 12);
  return reinterpret_cast<const float*>(rows.data());
}

}  // namespace stipple::cpu
