// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <vector>

#include "stipple/camera/camera.h"
#include "stipple/core/gaussians.h"

namespace stipple {

// Cameras from which a model can be judged if nobody knows where its photos were taken: around it at two
// distances, for objects, and in its middle, for rooms. They assume that y points down, as in models of
// COLMAP scenes that were taken upright.
struct Survey {
  std::vector<Camera> cameras;
  float near_plane = 0;  // in proportion to the model, which may be of any size
};

Survey survey_of(const Gaussians& gaussians);

}  // namespace stipple
