// SPDX-License-Identifier: Apache-2.0
#pragma once
// project_backward and optimize over a range of Gaussians. The two stages run them over the whole scene, one
// after the other; project_backward_optimize in turns, over pieces small enough that the gradients never
// leave a core's cache.
#include <cstddef>
#include <span>
#include <vector>

#include "stipple/backend/cpu/gaussian_group.h"

namespace stipple {

// Where the gradients of a range of Gaussians are, as plain floats; null where there are none.
struct ParameterGradient {
  float *mean = nullptr, *log_scale = nullptr, *rotation = nullptr, *logit_opacity = nullptr, *sh = nullptr,
        *color = nullptr, *covariance = nullptr;

  ParameterGradient from(std::size_t gaussian, std::size_t sh_count) const;  // without those before it
};

constexpr int kCameraFields = 16;  // rotation, translation, focal lengths, principal point

class ProjectBackward {
 public:
  ProjectBackward(const DeviceGaussians&, const Precomputed&, const View&, const Projection&,
                  const SplatGradient&);

  // Gaussians [begin, end), begin a multiple of kMaxGroup; out[0] is that of `begin`. camera_sum may be null,
  // or has kCameraFields sums to add to.
  void run(std::size_t begin, std::size_t end, const ParameterGradient& out, double* camera_sum) const;

 private:
  void run_last(std::size_t begin, std::size_t count, const ParameterGradient& out, double* camera_sum) const;

  GaussianGroups groups_;
  Math<float>::Pinhole camera_;
  Math<float>::RenderSettings settings_;
  std::span<const ProjectedSplat> splats_;
  std::span<const Splat> dL_dsplat_;
};

class AdamStep {
 public:
  AdamStep(DeviceGaussians&, const Projection&, AdamMoments&, const AdamOptions&);

  // Gaussians [begin, end), begin a multiple of kMaxGroup; gradient[0] is that of `begin`.
  void run(std::size_t begin, std::size_t end, const ParameterGradient& gradient) const;

  enum class Penalty { kNone, kOpacity, kScale };

  struct Group {  // one parameter array as plain floats
    float *value, *first_moment, *second_moment;
    std::size_t per_gaussian;  // floats
    float* ParameterGradient::*gradient;
    std::vector<float> rates;  // of kMaxGroup Gaussians, and room to load past the end
    Penalty penalty = Penalty::kNone;
    float penalty_weight = 0;  // of one value
  };

 private:
  std::vector<Group> groups_;
  Math<float>::AdamRule rule_;
  std::span<const ProjectedSplat> splats_;
  bool visible_only_;
};

}  // namespace stipple
