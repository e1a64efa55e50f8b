// SPDX-License-Identifier: Apache-2.0
#pragma once
// project_backward over a range of Gaussians. The stage runs it over the whole model;
// project_backward_optimize alternates it with AdamStep over ranges small enough that the gradients never
// leave a core's cache.
#include <cstddef>
#include <span>

#include "stipple/backend/cpu/shared/gaussian_group.h"
#include "stipple/backend/cpu/shared/parameter_gradient.h"

namespace stipple::cpu {

class ProjectBackwardRange {
 public:
  ProjectBackwardRange(const DeviceGaussians&, const Precomputed&, const View&, const WantedGradients&,
                       const Pass&);

  // Processes Gaussians [begin, end), where `begin` is a multiple of kMaxGroup; out[0] belongs to `begin`.
  // camera_sum is null or points to kCameraFields sums to add to.
  void run(std::size_t begin, std::size_t end, const ParameterGradient& out, double* camera_sum) const;

 private:
  struct GroupGradients {  // of the Gaussians of a group; opacity 0 for those that are not shown
    ProjectedSplat splat[kMaxGroup] = {};
    Splat dL_dsplat[kMaxGroup] = {};
  };
  void run_group(std::size_t begin, GroupGradients& spread, const ParameterGradient& out,
                 double* camera_sum) const;
  void run_last(std::size_t begin, std::size_t count, GroupGradients& spread, const ParameterGradient& out,
                double* camera_sum) const;

  GaussianGroups groups_;
  Math<float>::Pinhole camera_;
  Math<float>::RenderSettings settings_;
  std::span<const VisibleBlock> visible_;
  std::span<const ProjectedSplat> splats_;
  std::span<const Splat> dL_dsplat_;
  bool lifts_clamped_;
};

}  // namespace stipple::cpu
