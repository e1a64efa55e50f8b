// SPDX-License-Identifier: Apache-2.0
#include "stipple/image/area_scale.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "stipple/core/overlap.h"
#include "stipple/core/parallel.h"

namespace stipple {

namespace {

struct Share {  // overlap of an old pixel with a new one
  int index;
  float length;
};

// The old pixels that overlap each new pixel along one axis.
struct Axis {
  std::vector<Share> shares;
  std::vector<std::size_t> begin;  // of each new pixel's shares, plus one entry for the end
  double total = 0;                // length of a new pixel

  std::span<const Share> of(std::size_t i) const {
    return std::span(shares).subspan(begin[i], begin[i + 1] - begin[i]);
  }
};

// Lengths are integers without a common divisor, so that float sums of 8-bit values weighted by them are
// exact for sides of up to 65 000 pixels.
Axis make_axis(int original_px, int shrunk_by, int new_px) {
  const std::int64_t old_pixel = std::int64_t{shrunk_by} * new_px;
  const std::int64_t unit = std::gcd(old_pixel, std::int64_t{original_px});
  const std::int64_t new_pixel = original_px / unit;
  Axis axis;
  axis.total = static_cast<double>(new_pixel);
  for (std::int64_t i = 0; i < new_px; ++i) {
    axis.begin.push_back(axis.shares.size());
    for_each_overlap(i * new_pixel, (i + 1) * new_pixel, old_pixel / unit,
                     [&](int index, std::int64_t length) {
                       axis.shares.push_back({index, static_cast<float>(length)});
                     });
  }
  axis.begin.push_back(axis.shares.size());
  return axis;
}

// A hidden pixel still counts a little, so that an area keeps its colour even if all its pixels are hidden.
constexpr int kLeastCount = 1;

template <int kChannels>
void add_row(const std::uint8_t* from, std::size_t width, float length, float* sums) {
  if constexpr (kChannels == 4) {
    for (std::size_t i = 0; i < 4 * width; i += 4) {
      const float count = length * static_cast<float>(from[i + 3] + kLeastCount);
      for (std::size_t c = 0; c < 3; ++c) sums[i + c] += count * static_cast<float>(from[i + c]);
      sums[i + 3] += count;
    }
  } else {
    for (std::size_t i = 0; i < kChannels * width; ++i) sums[i] += length * static_cast<float>(from[i]);
  }
}

// Divides integers and rounds to nearest, halves up. Multiplying by the inverse is several times faster than
// dividing; adding another quarter keeps its rounding error from changing the result.
struct Divisor {
  double offset, inverse;

  explicit Divisor(double by)
      : offset(static_cast<double>(static_cast<std::int64_t>(by) / 2) + 0.25), inverse(1 / by) {}
  std::uint8_t operator()(double number) const {
    return static_cast<std::uint8_t>(static_cast<int>((number + offset) * inverse));
  }
};

template <int kChannels>
void write_pixel(const std::array<double, kChannels>& sum, double area, const Divisor& by_area,
                 std::uint8_t* to) {
  if constexpr (kChannels == 4) {
    const Divisor by_count(sum[3]);
    for (std::size_t c = 0; c < 3; ++c) to[c] = by_count(sum[c]);
    to[3] = by_area(sum[3] - kLeastCount * area);
  } else {
    for (std::size_t c = 0; c < kChannels; ++c) to[c] = by_area(sum[c]);
  }
}

// Sums down the columns first, because that loop is long and simple.
template <int kChannels>
void scale_row(const ByteImage& image, const Axis& across, std::span<const Share> rows, double area,
               std::vector<float>& sums, std::uint8_t* to) {
  const std::size_t width = static_cast<std::size_t>(image.width_px);
  const Divisor by_area(area);
  std::fill(sums.begin(), sums.end(), 0.0f);
  for (const Share& row : rows) {
    const std::size_t begin = static_cast<std::size_t>(row.index) * width * kChannels;
    add_row<kChannels>(image.values.data() + begin, width, row.length, sums.data());
  }
  for (std::size_t x = 0; x + 1 < across.begin.size(); ++x) {
    std::array<double, kChannels> sum{};
    for (const Share& column : across.of(x)) {
      const float* from = &sums[static_cast<std::size_t>(column.index) * kChannels];
      for (std::size_t c = 0; c < kChannels; ++c) {
        sum[c] += static_cast<double>(column.length) * static_cast<double>(from[c]);
      }
    }
    write_pixel<kChannels>(sum, area, by_area, to + x * kChannels);
  }
}

template <int kChannels>
void scale(const ByteImage& image, const Axis& across, const Axis& down, ByteImage& to) {
  const std::size_t row_bytes = static_cast<std::size_t>(to.width_px) * kChannels;
  parallel_ranges(static_cast<std::size_t>(to.height_px), 16, [&](std::size_t begin, std::size_t end) {
    std::vector<float> sums(static_cast<std::size_t>(image.width_px) * kChannels);
    for (std::size_t y = begin; y < end; ++y) {
      scale_row<kChannels>(image, across, down.of(y), across.total * down.total, sums,
                           to.values.data() + y * row_bytes);
    }
  });
}

}  // namespace

ByteImage area_scaled(ByteImage image, const Extent& original, int width_px, int height_px) {
  assert(width_px >= 1 && height_px >= 1 && image.channel_count != 2);
  const bool same_size = image.width_px == width_px && image.height_px == height_px;
  const bool whole = original.width_px == image.width_px * original.shrunk_by &&
                     original.height_px == image.height_px * original.shrunk_by;
  if (same_size && whole) return image;

  const Axis across = make_axis(original.width_px, original.shrunk_by, width_px);
  const Axis down = make_axis(original.height_px, original.shrunk_by, height_px);
  ByteImage scaled(width_px, height_px, image.channel_count);
  if (image.channel_count == 1) scale<1>(image, across, down, scaled);
  if (image.channel_count == 3) scale<3>(image, across, down, scaled);
  if (image.channel_count == 4) scale<4>(image, across, down, scaled);
  return scaled;
}

ByteImage area_scaled(ByteImage image, int width_px, int height_px) {
  const Extent whole{.width_px = image.width_px, .height_px = image.height_px};
  return area_scaled(std::move(image), whole, width_px, height_px);
}

}  // namespace stipple
