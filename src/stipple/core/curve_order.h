// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "stipple/math/vec.h"

namespace stipple {

// The place of points on a Morton curve through a box of most of them, where 1024 cells lie side by side.
struct CurveBox {
  Vec3f low{0, 0, 0}, high{0, 0, 0};
};
std::size_t curve_sample_stride(std::size_t point_count);  // every so many-th point tells the box
CurveBox curve_box(std::span<const Vec3f> samples);
std::uint32_t curve_place(Vec3f point, const CurveBox& box);

// Indices of the points in the order of a Morton curve, so that neighbours in space become neighbours in
// memory. Ties are ordered by index. Any coordinates are allowed; a NaN counts as one of the smallest.
std::vector<std::uint32_t> curve_order(std::span<const Vec3f> points);

}  // namespace stipple
