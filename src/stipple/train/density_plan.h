// SPDX-License-Identifier: Apache-2.0
#pragma once
// What density control wants the Gaussians to be next. The strategies make such plans on the host; carrying
// them out takes nothing from a backend but gather().
#include <vector>

#include "stipple/backend/backend.h"

namespace stipple {

// What the strategies look at, downloaded.
struct DensityInput {
  std::vector<Vec3f> mean, log_scale;
  std::vector<Vec4f> rotation;
  std::vector<float> logit_opacity;
  std::vector<Vec2f> statistics;  // as DensityStatistics has them
};

DensityInput download_density_input(const Backend& backend, const DeviceGaussians& gaussians,
                                    const DensityStatistics& statistics);

struct DensityPlan {
  // One entry a Gaussian to be: whose rotation and colour it takes over, whether its moments too (else they
  // are zero), and its other parameters.
  std::vector<std::uint32_t> source;
  std::vector<bool> keeps_moments;
  std::vector<Vec3f> mean, log_scale;
  std::vector<float> logit_opacity;

  std::size_t size() const { return source.size(); }
  void keep(const DensityInput& from, std::size_t i);  // as it is
  void add(const DensityInput& from, std::size_t i);   // a copy, new to the optimiser
};

// Orders the plan along a Morton curve through the means, so that what is near in space is near in memory.
void sort_along_curve(DensityPlan& plan);

void carry_out(Backend& backend, const DensityPlan& plan, DeviceGaussians& gaussians, AdamMoments& moments);

}  // namespace stipple
