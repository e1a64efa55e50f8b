// SPDX-License-Identifier: Apache-2.0
#pragma once
// Which Gaussians of a model to keep, as rows for keep_rows() (select.h).
#include <cstdint>
#include <string>
#include <vector>

#include "stipple/core/gaussians.h"

namespace stipple {

// A box in the frame of the model. It may be turned about its centre.
struct CropBox {
  Vec3<double> low{0, 0, 0}, high{0, 0, 0};
  Vec4<double> rotation{1, 0, 0, 0};  // model_from_box, quaternion (w, x, y, z) of any length
};

// The box with these numbers: low x, y and z, high x, y and z, and if it is turned, w, x, y and z of its
// rotation. Throws Error if they are not a box.
CropBox crop_box(const std::vector<double>& numbers);

// The Gaussians whose means are in the box or on its border.
std::vector<std::uint32_t> rows_in(const CropBox& box, const Gaussians& gaussians);

// The Gaussians with at least this opacity.
std::vector<std::uint32_t> rows_with_opacity(float least, const Gaussians& gaussians);

}  // namespace stipple
