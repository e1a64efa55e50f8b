// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/cpu/cpu_backend.h"

namespace stipple::cpu {

constexpr int kChannelGroup = 4;  // further channels are blended four at a time

// Channels first to first + 3 of every Gaussian, zero where there are fewer, as four floats each.
const float* load_channel_group(CpuBackend& backend, const Channels& channels, int first,
                                DeviceArray<Vec4f>& group);

}  // namespace stipple::cpu
