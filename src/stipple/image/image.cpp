// SPDX-License-Identifier: Apache-2.0
#include "stipple/image/image.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "stipple/core/overlap.h"

namespace stipple {

namespace {

bool has_alpha(const Image& image) { return image.channel_count == 2 || image.channel_count == 4; }

// The length of a side after scaling the longest side to max_side_px.
int shrunk(int side_px, int longest_px, int max_side_px) {
  const double side = static_cast<double>(side_px) * max_side_px / longest_px;
  return std::max(1, static_cast<int>(std::lround(side)));
}

// Calls f(old index, fraction of the new pixel it covers) for each old pixel under a new one, along one axis.
template <class F>
void for_each_part(int new_index, int old_size, int new_size, F f) {
  const std::int64_t begin = std::int64_t{new_index} * old_size;
  for_each_overlap(begin, begin + old_size, new_size,
                   [&](int index, std::int64_t length) { f(index, static_cast<double>(length) / old_size); });
}

// Averages the old rows under one new row, column by column. Colours are premultiplied by alpha.
void average_rows(const Image& image, int new_y, int new_height, std::vector<double>& sums) {
  const int channels = image.channel_count;
  std::fill(sums.begin(), sums.end(), 0.0);
  for_each_part(new_y, image.height_px, new_height, [&](int y, double weight) {
    for (int x = 0; x < image.width_px; ++x) {
      const float* pixel = &image.at(x, y, 0);
      double* sum = &sums[static_cast<std::size_t>(x) * channels];
      const double alpha = has_alpha(image) ? pixel[channels - 1] : 1.0;
      for (int c = 0; c < channels; ++c) {
        const bool is_alpha = has_alpha(image) && c == channels - 1;
        sum[c] += weight * (is_alpha ? alpha : alpha * pixel[c]);
      }
    }
  });
}

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
  assert(max_side_px >= 1);
  const int longest_px = std::max(image.width_px, image.height_px);
  if (longest_px <= max_side_px) return image;
  const int channels = image.channel_count;
  Image small(shrunk(image.width_px, longest_px, max_side_px),
              shrunk(image.height_px, longest_px, max_side_px), channels);
  std::vector<double> row(static_cast<std::size_t>(image.width_px) * channels);
  for (int y = 0; y < small.height_px; ++y) {
    average_rows(image, y, small.height_px, row);
    for (int x = 0; x < small.width_px; ++x) {
      double sum[4] = {};
      for_each_part(x, image.width_px, small.width_px, [&](int from_x, double weight) {
        for (int c = 0; c < channels; ++c)
          sum[c] += weight * row[static_cast<std::size_t>(from_x) * channels + c];
      });
      // Colours are weighted by alpha, so that the colours of transparent pixels do not bleed out.
      const double alpha = has_alpha(image) ? sum[channels - 1] : 1.0;
      for (int c = 0; c < channels; ++c) {
        const bool is_alpha = has_alpha(image) && c == channels - 1;
        small.at(x, y, c) = static_cast<float>(is_alpha ? alpha : alpha > 0 ? sum[c] / alpha : 0.0);
      }
    }
  }
  return small;
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
