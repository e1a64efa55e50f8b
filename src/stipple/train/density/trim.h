// SPDX-License-Identifier: Apache-2.0
#pragma once
// Removes and limits what the photos cannot support, before a refinement.
#include <span>
#include <vector>

#include "stipple/scene/scene.h"
#include "stipple/train/density/density_plan.h"

namespace stipple {

class Trimmer {
 public:
  Trimmer(const Scene& scene, std::span<const std::size_t> views);

  // Makes strays so faint that density control removes them: Gaussians much nearer to a camera than anything
  // that it sees, and that hardly any other camera could confirm. Shrinks Gaussians that would cover more
  // than half of a picture.
  void trim(DensityInput& input) const;

  bool is_stray(Vec3f mean) const;
  float largest_scale(Vec3f mean) const;  // infinite if no camera sees the mean

 private:
  struct Eye {
    Camera camera;
    Vec3f center;
    // A Gaussian nearer than this is suspicious, and one in between is where the camera sees things; both are
    // 0 if that is unknown.
    float near = 0, far = 0;
  };
  std::vector<Eye> eyes_;
};

}  // namespace stipple
