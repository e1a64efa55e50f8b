// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/rows_to_keep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/core/error.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

template <class Wanted>
std::vector<std::uint32_t> rows_where(std::size_t count, const Wanted& wanted) {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < count; ++i)
    if (wanted(i)) rows.push_back(static_cast<std::uint32_t>(i));
  return rows;
}

bool is_between(Vec3<double> low, Vec3<double> x, Vec3<double> high) {  // false for NaN
  return low.x <= x.x && x.x <= high.x && low.y <= x.y && x.y <= high.y && low.z <= x.z && x.z <= high.z;
}

}  // namespace

CropBox crop_box(const std::vector<double>& v) {
  if (v.size() != 6 && v.size() != 10)
    throw Error(
        fmt::format("a crop box has 6 numbers, xmin,ymin,zmin,xmax,ymax,zmax, or 10 with its rotation "
                    "w,x,y,z, but not {}",
                    v.size()));
  if (!std::all_of(v.begin(), v.end(), [](double x) { return std::isfinite(x); }))
    throw Error("a crop box has only finite numbers");
  CropBox box{{v[0], v[1], v[2]}, {v[3], v[4], v[5]}};
  if (!is_between(box.low, box.high, box.high))
    throw Error("each minimum of a crop box must be at most its maximum: xmin,ymin,zmin,xmax,ymax,zmax");
  if (v.size() == 10) box.rotation = {v[6], v[7], v[8], v[9]};
  if (Math<double>::is_degenerate_quaternion(box.rotation))
    throw Error("the rotation of a crop box is a quaternion w,x,y,z that is not zero");
  return box;
}

std::vector<std::uint32_t> rows_in(const CropBox& box, const Gaussians& g) {
  const Vec3<double> center = (box.low + box.high) * 0.5;
  const Mat3<double> box_from_model = transpose(Math<double>::rotation_from_quaternion(box.rotation));
  const bool is_turned = !(box_from_model == Mat3<double>(1, 0, 0, 0, 1, 0, 0, 0, 1));
  return rows_where(g.size(), [&](std::size_t i) {
    Vec3<double> x(g.mean[i].x, g.mean[i].y, g.mean[i].z);
    if (is_turned) x = center + box_from_model * (x - center);  // rounds, unlike the comparison
    return is_between(box.low, x, box.high);
  });
}

std::vector<std::uint32_t> rows_with_opacity(float least, const Gaussians& g) {
  return rows_where(g.size(),
                    [&](std::size_t i) { return Math<float>::sigmoid(g.logit_opacity[i]) >= least; });
}

}  // namespace stipple
