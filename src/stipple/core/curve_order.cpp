// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/curve_order.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "stipple/core/parallel.h"
#include "stipple/core/quantile.h"

namespace stipple {

namespace {

constexpr int kAxisBits = 10;  // 1024 cells per side, so that few of a million Gaussians share a cell
constexpr std::size_t kDigits = 1 << kAxisBits;
constexpr std::size_t kChunk = 1 << 16;
constexpr std::size_t kSampleCount = 1 << 14;  // points that tell the box

// Spreads the lowest 10 bits of x to every third bit.
std::uint32_t spread(std::uint32_t x) {
  x = (x | x << 16) & 0x030000ff;
  x = (x | x << 8) & 0x0300f00f;
  x = (x | x << 4) & 0x030c30c3;
  return (x | x << 2) & 0x09249249;
}

// One stable pass of a radix sort, by the kAxisBits bits that start at `shift`. The chunks count their digits
// first, so that each one knows where its keys go and all can be moved in parallel.
void counting_pass(const std::vector<std::uint64_t>& from, std::vector<std::uint64_t>& to, int shift) {
  const auto digit = [shift](std::uint64_t key) { return (key >> shift) % kDigits; };
  std::vector<std::array<std::uint32_t, kDigits>> place(chunk_count(from.size(), kChunk));
  parallel_chunks(from.size(), kChunk, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    place[chunk].fill(0);
    for (std::size_t i = begin; i < end; ++i) ++place[chunk][digit(from[i])];
  });
  std::uint32_t next = 0;
  for (std::size_t d = 0; d < kDigits; ++d)
    for (auto& chunk : place) next += std::exchange(chunk[d], next);
  parallel_chunks(from.size(), kChunk, [&](std::size_t chunk, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) to[place[chunk][digit(from[i])]++] = from[i];
  });
}

}  // namespace

std::size_t curve_sample_stride(std::size_t point_count) { return point_count / kSampleCount + 1; }

// Quantiles are used because a few distant points would enlarge the bounding box out of all proportion.
CurveBox curve_box(std::span<const Vec3f> samples) {
  CurveBox box;
  for (int axis = 0; axis < 3; ++axis) {
    std::vector<float> values;
    for (const Vec3f p : samples)
      if (std::isfinite(p[axis])) values.push_back(p[axis]);
    if (values.empty()) continue;
    box.low[axis] = quantile_of(values, 0.01f);
    box.high[axis] = quantile_of(std::move(values), 0.99f);
  }
  return box;
}

std::uint32_t curve_place(Vec3f p, const CurveBox& box) {
  constexpr float kCells = kDigits;
  std::uint32_t place = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const float size = box.high[axis] - box.low[axis];
    const float t = size > 0 ? (p[axis] - box.low[axis]) / size : 0.0f;
    const auto cell = t > 0 ? static_cast<std::uint32_t>(std::min(t * kCells, kCells - 1)) : 0;  // NaN: 0
    place |= spread(cell) << axis;
  }
  return place;
}

std::vector<std::uint32_t> curve_order(std::span<const Vec3f> points) {
  if (points.empty()) return {};
  std::vector<Vec3f> samples;
  for (std::size_t i = 0; i < points.size(); i += curve_sample_stride(points.size()))
    samples.push_back(points[i]);
  const CurveBox box = curve_box(samples);
  std::vector<std::uint64_t> keys(points.size()), sorted(points.size());  // place << 32 | index
  parallel_chunks(points.size(), kChunk, [&](std::size_t, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) keys[i] = std::uint64_t{curve_place(points[i], box)} << 32 | i;
  });
  for (int axis = 0; axis < 3; ++axis) {
    counting_pass(keys, sorted, 32 + axis * kAxisBits);
    std::swap(keys, sorted);
  }
  std::vector<std::uint32_t> order(points.size());
  std::transform(keys.begin(), keys.end(), order.begin(),
                 [](std::uint64_t key) { return static_cast<std::uint32_t>(key); });
  return order;
}

}  // namespace stipple
