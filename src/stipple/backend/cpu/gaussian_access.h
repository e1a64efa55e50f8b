// SPDX-License-Identifier: Apache-2.0
#pragma once
// One Gaussian out of the arrays, with what was given in place of computed values taken into account: shared
// by project and project_backward.
#include <cstddef>
#include <span>

#include "stipple/backend/cpu/cpu_backend.h"

namespace stipple {

class GaussianReader {
 public:
  using M = Math<float>;

  GaussianReader(const DeviceGaussians& g, const Precomputed& precomputed)
      : mean_(host(g.mean)),
        log_scale_(host(g.log_scale)),
        rotation_(host(g.rotation)),
        logit_opacity_(host(g.logit_opacity)),
        sh_(host(g.sh)),
        sh_degree_(g.sh_degree),
        sh_count_(static_cast<std::size_t>(g.sh_count())),
        color_(host(precomputed.color)),
        covariance_(host(precomputed.covariance)) {}

  bool has_color() const { return !color_.empty(); }
  bool has_covariance() const { return !covariance_.empty(); }
  int sh_degree() const { return sh_degree_; }
  std::size_t sh_count() const { return sh_count_; }

  Vec3f mean(std::size_t i) const { return mean_[i]; }
  float opacity(std::size_t i) const { return M::sigmoid(logit_opacity_[i]); }
  M::Shape shape(std::size_t i, float scale_modifier) const {
    return {M::scale_from_log(log_scale_[i], scale_modifier), rotation_[i]};
  }
  M::Placed placed(std::size_t i, float scale_modifier) const {
    if (has_covariance()) return {mean_[i], M::unpack_covariance(covariance_[i])};
    return {mean_[i], M::covariance(shape(i, scale_modifier))};
  }
  const Vec3f* sh(std::size_t i) const { return &sh_[i * sh_count_]; }

  Vec3f sh_sum(std::size_t i, const M::HarmonicBasis& basis) const {
    Vec3f sum(0, 0, 0);
    const Vec3f* coefficients = sh(i);
    for (std::size_t k = 0; k < sh_count_; ++k) sum = sum + coefficients[k] * basis.b[k];
    return sum;
  }
  Vec3f color(std::size_t i, const M::Pinhole& camera) const {
    if (has_color()) return color_[i];
    Vec3f direction = M::view_direction(M::view_offset(mean_[i], camera));
    return M::color_from_harmonics(sh_sum(i, M::harmonic_basis(sh_degree_, direction)));
  }

 private:
  std::span<const Vec3f> mean_, log_scale_;
  std::span<const Vec4f> rotation_;
  std::span<const float> logit_opacity_;
  std::span<const Vec3f> sh_;
  int sh_degree_;
  std::size_t sh_count_;
  std::span<const Vec3f> color_;
  std::span<const PackedCovariance> covariance_;
};

}  // namespace stipple
