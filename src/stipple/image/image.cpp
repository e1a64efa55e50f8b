// SPDX-License-Identifier: Apache-2.0
#include "stipple/image/image.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "stipple/image/shrink.h"

namespace stipple {

namespace {

bool has_alpha(const Image& image) { return image.channel_count == 2 || image.channel_count == 4; }

}  // namespace

Image to_rgb(const Image& image, Vec3f background) {
  assert(1 <= image.channel_count && image.channel_count <= 4);
  if (image.channel_count == 3) return image;
  const bool grey = image.channel_count <= 2;
  Image rgb(image.width_px, image.height_px, 3);
  for (std::size_t i = 0; i < image.pixel_count(); ++i) {
    const float* from = &image.values[i * static_cast<std::size_t>(image.channel_count)];
    const float alpha = has_alpha(image) ? from[image.channel_count - 1] : 1.0f;
    for (int c = 0; c < 3; ++c) {
      rgb.values[3 * i + c] = alpha * from[grey ? 0 : c] + (1 - alpha) * background[c];
    }
  }
  return rgb;
}

Image shrink_to(const Image& image, int max_side_px) {
  if (std::max(image.width_px, image.height_px) <= max_side_px) return image;
  return shrunk_to(ImageSource{image.width_px, image.height_px, image.channel_count,
                               [&](std::size_t i) { return image.values[i]; }},
                   max_side_px);
}

double psnr(const Image& a, const Image& b, std::span<const std::uint8_t> weight) {
  assert(a.width_px == b.width_px && a.height_px == b.height_px && a.channel_count == b.channel_count);
  assert(weight.empty() || weight.size() == a.pixel_count());
  const std::size_t channels = static_cast<std::size_t>(a.channel_count);
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double difference = static_cast<double>(clamp(a.values[i], 0.0f, 1.0f)) -
                              static_cast<double>(clamp(b.values[i], 0.0f, 1.0f));
    const double w = weight.empty() ? 1.0 : weight[i / channels];
    sum += w * difference * difference;
    count += w;
  }
  if (count == 0) return std::numeric_limits<double>::quiet_NaN();
  if (sum == 0) return std::numeric_limits<double>::infinity();
  return -10 * std::log10(sum / count);
}

}  // namespace stipple
