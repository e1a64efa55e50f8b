// SPDX-License-Identifier: Apache-2.0
#pragma once
// The sizes and places of Gaussians in relation to their model, which are known without any photo.
#include <vector>

#include "stipple/core/gaussians.h"

namespace stipple {

struct Shape {
  bool is_finite = true;  // if not, all other fields are 0
  float remoteness = 0;   // distance from the middle of the model / radius of the model
  float bulk = 0;         // middle scale / radius of the model
  float reach = 0;        // middle scale / distance from the middle of the model
  float elongation = 0;   // largest scale / middle scale
  float length = 0;       // largest scale / the median of these
  float isolation = 0;    // distance to the neighbours / the larger of largest scale and median distance
};

struct ModelFrame {
  Vec3f middle{0, 0, 0};  // median of the means
  float radius = 0;       // the distance within which most means lie; 0 if they all coincide
};

struct ModelShape {
  ModelFrame frame;           // of the Gaussians whose values are all finite
  std::vector<Shape> shapes;  // if there are too few to say what is usual, all but is_finite is 0
};

ModelShape shape_of(const Gaussians& gaussians);

}  // namespace stipple
