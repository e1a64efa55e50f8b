// SPDX-License-Identifier: Apache-2.0
#include "stipple/image/byte_image.h"

#include <algorithm>

#include "stipple/core/parallel.h"

namespace stipple {

ByteImage to_bytes(const Image& image) {
  constexpr std::size_t kGrain = 1 << 16;
  ByteImage bytes(image.width_px, image.height_px, image.channel_count);
  parallel_for(
      bytes.values.size(),
      [&](std::size_t i) {
        const float value = image.values[i] > 0 ? std::min(image.values[i], 1.0f) : 0.0f;  // 0 also for NaN
        bytes.values[i] = static_cast<std::uint8_t>(255.0f * value + 0.5f);
      },
      kGrain);
  return bytes;
}

}  // namespace stipple
