// SPDX-License-Identifier: Apache-2.0
#pragma once
// project_backward and optimize over a range of Gaussians. The two stages run them over the whole scene, one
// after the other; project_backward_optimize in turns, over pieces small enough that the gradients never
// leave a core's cache.
#include <cstddef>
#include <span>
#include <vector>

#include "stipple/backend/adam_rule.h"
#include "stipple/backend/cpu/gaussian_group.h"

namespace stipple {

// Where the gradients of a range of Gaussians are, as plain floats; null where there are none.
struct ParameterGradient : GaussianArrays<FloatPointer> {
  float *color = nullptr, *covariance = nullptr;

  ParameterGradient from(std::size_t gaussian) const;  // without those before it
};

// Calls f(floats per Gaussian, that field of each argument ...) for every field, given colours and
// covariances included.
template <class F, class First, class... Rest>
void for_each_gradient(F f, First& first, Rest&... rest) {
  GaussianArrays<Element> elements;
  elements.sh_degree = first.sh_degree;
  for_each_parameter(
      [&](int per_gaussian, auto element, auto&... field) {
        f(static_cast<std::size_t>(per_gaussian) * element.kFloats, field...);
      },
      elements, first, rest...);
  f(std::size_t{3}, first.color, rest.color...);
  f(std::size_t{6}, first.covariance, rest.covariance...);
}

class ProjectBackward {
 public:
  ProjectBackward(const DeviceGaussians&, const Precomputed&, const View&, const Pass&);

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

// What density control is told of a view, Gaussian by Gaussian.
class Observation {
 public:
  Observation(const View&, const Pass&);

  bool is_seen(std::size_t gaussian) const { return splats_[gaussian].splat.opacity > 0; }
  Vec2f of(std::size_t gaussian) const;  // zero when it is not seen

 private:
  Vec2f half_size_;
  std::span<const ProjectedSplat> splats_;
  std::span<const Splat> dL_dsplat_;
  std::span<const Vec2f> absolute_;  // or empty
};

class AdamStep {
 public:
  // The penalties count once for each of `view_count` views.
  AdamStep(DeviceGaussians&, AdamMoments&, const AdamOptions&, const LossOptions&, int view_count);

  // Gaussians [begin, end), begin a multiple of kMaxGroup; gradient[0] is that of `begin`. is_seen(gaussian)
  // is asked where only what is seen changes.
  template <class IsSeen>
  void run(std::size_t begin, std::size_t end, const ParameterGradient& gradient, IsSeen is_seen) const {
    if (!visible_only_) return run_all(begin, end, gradient);
    for (std::size_t i = begin; i < end; ++i)
      if (is_seen(i)) run_all(i, i + 1, gradient.from(i - begin));
  }

  struct Group {  // one parameter array as plain floats
    float *value, *first_moment, *second_moment;
    std::size_t per_gaussian;  // floats
    std::vector<float> rates;  // of kMaxGroup Gaussians, and room to load past the end
    Penalty penalty;
    float penalty_weight;  // of one value
  };

 private:
  void run_all(std::size_t begin, std::size_t end, const ParameterGradient& gradient) const;

  std::vector<Group> groups_;  // in the order of for_each_parameter
  Math<float>::AdamRule rule_;
  bool visible_only_;
};

}  // namespace stipple
