// SPDX-License-Identifier: Apache-2.0
#pragma once
// project and project_backward process one vector of Gaussians at a time: a group. A partial block of groups
// at the end of the model is first copied to a padded buffer, so that the kernels always see a full one.
#include <cstddef>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/backend/render_settings.h"

namespace stipple::cpu {

constexpr int kMaxGroup = 16;  // lanes of the widest vector; the size of every group divides it

// The inputs of one group, consecutive in memory; null if absent.
struct GaussianGroup {
  const float *mean, *log_scale, *rotation, *logit_opacity, *sh, *color, *covariance, *filter_variance;
  int sh_degree;
  std::size_t sh_count;
  bool is_activated;  // as in Precomputed
  Math<float>::Dropout dropout;
  std::uint32_t index;  // of the first Gaussian in the model, for the dropout

  bool is_altered() const { return filter_variance || dropout.threshold > 0; }
};

class GaussianGroups {
 public:
  GaussianGroups(const DeviceGaussians& g, const Precomputed& precomputed, const View& view)
      : count_(g.size()),
        all_{floats(g.mean),
             floats(g.log_scale),
             floats(g.rotation),
             floats(g.logit_opacity),
             floats(g.sh),
             floats(precomputed.color),
             floats(precomputed.covariance),
             floats(precomputed.filter_variance),
             g.sh_degree,
             static_cast<std::size_t>(g.sh_count()),
             precomputed.is_activated,
             dropout_of(view),
             0} {}

  std::size_t size() const { return count_; }
  int sh_degree() const { return all_.sh_degree; }
  std::size_t sh_count() const { return all_.sh_count; }

  // The block of kMaxGroup Gaussians starting at `first`; if there are fewer, they are copied to `padded`.
  struct Padded {
    float mean[3 * kMaxGroup], log_scale[3 * kMaxGroup], rotation[4 * kMaxGroup], logit_opacity[kMaxGroup],
        sh[48 * kMaxGroup], color[3 * kMaxGroup], covariance[6 * kMaxGroup], filter_variance[kMaxGroup];
  };
  GaussianGroup block(std::size_t first, Padded& padded) const;

 private:
  template <class T>
  static const float* floats(const DeviceArray<T>& array) {
    return array.empty() ? nullptr : reinterpret_cast<const float*>(host(array).data());
  }
  std::size_t count_;
  GaussianGroup all_;
};

}  // namespace stipple::cpu
