// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/transform.h"

#include <array>
#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/core/parallel.h"
#include "stipple/edit/harmonics_transform.h"
#include "stipple/math/math.h"

namespace stipple {

namespace {

constexpr std::size_t kGrain = 1 << 12;

using Quaternion = std::array<double, 4>;  // w, x, y, z

void move_means(const SimilarityTransform& t, std::vector<Vec3f>& means) {
  parallel_for(
      means.size(),
      [&](std::size_t i) {
        const Vec3<double> x = t * Vec3<double>(means[i].x, means[i].y, means[i].z);
        means[i] = {static_cast<float>(x.x), static_cast<float>(x.y), static_cast<float>(x.z)};
      },
      kGrain);
}

void grow(double scale, std::vector<Vec3f>& log_scales) {
  const double more = std::log(scale);
  const auto grown = [more](float v) { return static_cast<float>(static_cast<double>(v) + more); };
  parallel_for(
      log_scales.size(),
      [&](std::size_t i) {
        const Vec3f s = log_scales[i];
        log_scales[i] = {grown(s.x), grown(s.y), grown(s.z)};
      },
      kGrain);
}

// The rotation r after the rotation q. A degenerate q means no rotation (math/covariance.glsl).
Vec4f turned(const Quaternion& r, Vec4f q) {
  if (Math<float>::is_degenerate_quaternion(q)) q = {1, 0, 0, 0};
  const double w = q.x, x = q.y, y = q.z, z = q.w;
  return {static_cast<float>(r[0] * w - r[1] * x - r[2] * y - r[3] * z),
          static_cast<float>(r[0] * x + r[1] * w + r[2] * z - r[3] * y),
          static_cast<float>(r[0] * y - r[1] * z + r[2] * w + r[3] * x),
          static_cast<float>(r[0] * z + r[1] * y - r[2] * x + r[3] * w)};
}

// A Gaussian equals its point reflection, so that a reflection Q does the same to its shape as the rotation
// -Q.
void turn_shapes(const Mat3<double>& q, std::vector<Vec4f>& rotations) {
  const Mat3<double> rotation = determinant(q) < 0 ? q * -1.0 : q;
  if (rotation == Mat3<double>(1, 0, 0, 0, 1, 0, 0, 0, 1)) return;
  const Quaternion r = quaternion_from_rotation(rotation);
  parallel_for(
      rotations.size(), [&](std::size_t i) { rotations[i] = turned(r, rotations[i]); }, kGrain);
}

void turn_harmonics(const Mat3<double>& q, Gaussians& g) {
  if (g.sh_degree == 0) return;
  const HarmonicsTransform harmonics(q);
  const auto sh_count = static_cast<std::size_t>(g.sh_count());
  parallel_for(
      g.size(), [&](std::size_t i) { harmonics.apply(g.sh_degree, g.sh.data() + i * sh_count); }, kGrain);
}

}  // namespace

void transform(const SimilarityTransform& new_from_old, Gaussians& gaussians) {
  const SimilarityTransform unchanged;
  if (new_from_old == unchanged) return;
  move_means(new_from_old, gaussians.mean);
  if (new_from_old.scale != unchanged.scale) grow(new_from_old.scale, gaussians.log_scale);
  if (new_from_old.rotation == unchanged.rotation) return;
  turn_shapes(new_from_old.rotation, gaussians.rotation);
  turn_harmonics(new_from_old.rotation, gaussians);
}

}  // namespace stipple
