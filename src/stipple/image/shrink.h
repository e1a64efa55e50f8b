// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shrinks an image whose values may be stored as something else than floats: a photo of 100 megapixels as
// floats takes gigabytes.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <vector>

#include "stipple/core/overlap.h"
#include "stipple/image/image.h"

namespace stipple {

// An image of which only the values are known, by their index: values[(y * width + x) * channels + c].
template <class ValueAt>
struct ImageSource {
  int width_px, height_px, channel_count;
  ValueAt value_at;

  bool has_alpha() const { return channel_count == 2 || channel_count == 4; }
};

template <class ValueAt>
ImageSource(int, int, int, ValueAt) -> ImageSource<ValueAt>;

// The length of a side after scaling the longest side to max_side_px.
inline int shrunk_side(int side_px, int longest_px, int max_side_px) {
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
template <class ValueAt>
void average_rows(const ImageSource<ValueAt>& image, int new_y, int new_height, std::vector<double>& sums) {
  const std::size_t channels = static_cast<std::size_t>(image.channel_count);
  const std::size_t width = static_cast<std::size_t>(image.width_px);
  std::fill(sums.begin(), sums.end(), 0.0);
  for_each_part(new_y, image.height_px, new_height, [&](int y, double weight) {
    for (std::size_t x = 0; x < width; ++x) {
      const std::size_t pixel = (static_cast<std::size_t>(y) * width + x) * channels;
      double* sum = &sums[x * channels];
      const double alpha = image.has_alpha() ? image.value_at(pixel + channels - 1) : 1.0;
      for (std::size_t c = 0; c < channels; ++c) {
        const bool is_alpha = image.has_alpha() && c == channels - 1;
        sum[c] += weight * (is_alpha ? alpha : alpha * image.value_at(pixel + c));
      }
    }
  });
}

// Scales the longer side to max_side_px, which must be smaller, averaging over each new pixel's area.
template <class ValueAt>
Image shrunk_to(const ImageSource<ValueAt>& image, int max_side_px) {
  const int longest_px = std::max(image.width_px, image.height_px);
  assert(1 <= max_side_px && max_side_px < longest_px);
  const int channels = image.channel_count;
  Image small(shrunk_side(image.width_px, longest_px, max_side_px),
              shrunk_side(image.height_px, longest_px, max_side_px), channels);
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
      const double alpha = image.has_alpha() ? sum[channels - 1] : 1.0;
      for (int c = 0; c < channels; ++c) {
        const bool is_alpha = image.has_alpha() && c == channels - 1;
        small.at(x, y, c) = static_cast<float>(is_alpha ? alpha : alpha > 0 ? sum[c] / alpha : 0.0);
      }
    }
  }
  return small;
}

}  // namespace stipple
