// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/cpu/cpu_backend.h"

namespace stipple::cpu {

constexpr int kChannelGroup = 4;  // channels are blended four at a time

// Copies channels [first, first + 4) of these Gaussians to `group`, as four floats each; channels past the
// last are zero. Returns the floats.
const float* load_channel_group(CpuBackend& backend, const Channels& channels,
                                std::span<const std::uint32_t> gaussians, int first,
                                DeviceArray<Vec4f>& group);

}  // namespace stipple::cpu
