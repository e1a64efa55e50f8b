// SPDX-License-Identifier: Apache-2.0
#include "stipple/camera/lens_projection.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "stipple/math/dual.h"

namespace stipple {

namespace {

using Dual2 = Dual<2>;

constexpr double kMaxPerspectiveRadius = 1e4;  // tan(89.994 degrees); a distorted lens sees no further
constexpr double kTolerance = 1e-12;           // in distorted (u, v); relative if |(u, v)| > 1
constexpr int kMaxIterations = 100;            // the solvers usually take five
constexpr double kMinStepPart = 1e-6;          // smallest fraction of Newton's step to try

double length(Vec2<double> v) { return std::sqrt(dot(v, v)); }

// Drops trailing zeros, which would cost time at every pixel.
Polynomial trimmed(Polynomial p) {
  while (p.size() > 1 && p.back() == 0) p.pop_back();
  return p;
}

Vec2<double> value(const Vec2<Dual2>& v) { return {v.x.value, v.y.value}; }

double determinant(const Vec2<Dual2>& f) { return f.x.d[0] * f.y.d[1] - f.x.d[1] * f.y.d[0]; }

// The step that changes f by `change`, to first order.
Vec2<double> solve(const Vec2<Dual2>& f, Vec2<double> change) {
  const double scale = 1 / determinant(f);
  return {scale * (f.y.d[1] * change.x - f.x.d[1] * change.y),
          scale * (f.x.d[0] * change.y - f.y.d[0] * change.x)};
}

}  // namespace

LensProjection::LensProjection(const Lens& lens)
    : lens_(lens),
      is_fisheye_(lens.kind == Lens::Kind::kFisheye),
      has_tangential_(lens.tangential[0] != 0 || lens.tangential[1] != 0) {
  const auto& k = lens.radial;
  numerator_ = trimmed(is_fisheye_ ? Polynomial{1, k[0], k[1], k[2], k[3]} : Polynomial{1, k[0], k[1], k[2]});
  denominator_ = trimmed(is_fisheye_ ? Polynomial{1} : Polynomial{1, k[3], k[4], k[5]});
  limit_ = find_limit();
}

// With n / d the radial factor at s = radius^2, the derivative of radius * n / d along the radius is
// ((n + 2 s n') d - 2 s n d') / d^2. The distortion folds back where this or d changes sign.
double LensProjection::find_limit() const {
  if (lens_.is_pinhole()) return std::numeric_limits<double>::infinity();
  const Polynomial slope = (numerator_ + Polynomial{0, 2} * derivative(numerator_)) * denominator_ +
                           Polynomial{0, -2} * numerator_ * derivative(denominator_);
  double limit = is_fisheye_ ? std::numbers::pi : kMaxPerspectiveRadius;
  for (const Polynomial& p : {slope, denominator_}) {
    const std::vector<double> changes = sign_changes(p, 0, limit * limit);
    if (!changes.empty()) limit = std::sqrt(changes.front());
  }
  return limit;
}

template <class T>
T LensProjection::radial_factor(T radius_squared) const {
  return evaluate(numerator_, radius_squared) / evaluate(denominator_, radius_squared);
}

template <class T>
T LensProjection::distorted_radius(T radius) const {
  return radius * radial_factor(radius * radius);
}

// For perspective lenses only.
template <class T>
Vec2<T> LensProjection::distort(Vec2<T> uv) const {
  const auto [p1, p2] = lens_.tangential;
  const T uu = uv.x * uv.x, vv = uv.y * uv.y, two_uv = 2 * uv.x * uv.y;
  const T r_squared = uu + vv;
  const T factor = radial_factor(r_squared);
  return {uv.x * factor + p1 * two_uv + p2 * (r_squared + 2 * uu),
          uv.y * factor + p1 * (r_squared + 2 * vv) + p2 * two_uv};
}

std::optional<Vec2<double>> LensProjection::project(Vec3<double> p_in_camera) const {
  const auto distorted = is_fisheye_ ? fisheye(p_in_camera) : perspective(p_in_camera);
  if (!distorted) return {};
  return lens_.focal_px * *distorted + lens_.center_px;
}

std::optional<Vec2<double>> LensProjection::perspective(Vec3<double> p_in_camera) const {
  if (!(p_in_camera.z > 0)) return {};
  const Vec2<double> uv{p_in_camera.x / p_in_camera.z, p_in_camera.y / p_in_camera.z};
  if (dot(uv, uv) > limit_ * limit_) return {};
  if (!has_tangential_) return uv * radial_factor(dot(uv, uv));
  // Tangential distortion shifts the fold, which on one side then lies inside the limit.
  const auto distorted = distort<Dual2>({{uv.x, 0}, {uv.y, 1}});
  if (!(determinant(distorted) > 0)) return {};
  return value(distorted);
}

std::optional<Vec2<double>> LensProjection::fisheye(Vec3<double> p_in_camera) const {
  const Vec2<double> xy{p_in_camera.x, p_in_camera.y};
  const double off_axis = length(xy);
  if (off_axis == 0) return p_in_camera.z > 0 ? std::optional(Vec2<double>(0, 0)) : std::nullopt;
  const double theta = std::atan2(off_axis, p_in_camera.z);
  if (theta > limit_) return {};
  return xy * (distorted_radius(theta) / off_axis);
}

std::optional<Vec3<double>> LensProjection::unproject(Vec2<double> pixel) const {
  const Vec2<double> distorted = (pixel - lens_.center_px) / lens_.focal_px;
  const Vec3<double> candidate = direction(distorted);
  const auto back = project(candidate);
  if (!back) return {};
  const double error = length((*back - pixel) / lens_.focal_px);
  if (!(error <= kTolerance * max(1.0, length(distorted)))) return {};
  return candidate;
}

// The result is wrong if no direction projects to this point; unproject() checks it.
Vec3<double> LensProjection::direction(Vec2<double> distorted) const {
  const double r_distorted = length(distorted);
  if (r_distorted == 0 && !has_tangential_) return {0, 0, 1};
  const double radius = undistorted_radius(r_distorted);
  const Vec2<double> outward = r_distorted > 0 ? distorted * (1 / r_distorted) : Vec2<double>(0, 0);
  if (is_fisheye_) {
    return {outward.x * std::sin(radius), outward.y * std::sin(radius), std::cos(radius)};
  }
  const Vec2<double> uv = has_tangential_ ? refine(outward * radius, distorted) : outward * radius;
  return Vec3<double>(uv.x, uv.y, 1) * (1 / std::sqrt(1 + dot(uv, uv)));
}

// Newton's method between two bounds, with bisection whenever a step would leave them. The distorted radius
// increases up to the limit, so there is one solution; the result for larger distorted radii is the limit.
double LensProjection::undistorted_radius(double distorted) const {
  double low = 0, high = limit_;
  if (distorted >= distorted_radius(high)) return high;
  double radius = min(distorted, high);
  for (int i = 0; i < kMaxIterations; ++i) {
    const auto reached = distorted_radius(Dual<1>(radius, 0));
    const double excess = reached.value - distorted;
    if (excess == 0) return radius;
    (excess > 0 ? high : low) = radius;
    double next = radius - excess / reached.d[0];
    if (!(low < next && next < high)) next = (low + high) / 2;
    if (next == radius) return radius;
    radius = next;
  }
  return radius;
}

// Newton's method in two dimensions for a perspective lens, starting from a `uv` that ignores tangential
// distortion. A step that does not reduce the error is halved.
Vec2<double> LensProjection::refine(Vec2<double> uv, Vec2<double> distorted) const {
  // At the limit itself the slope is zero, and Newton's step is undefined.
  uv = uv * min(1.0, 0.95 * limit_ / max(length(uv), kTolerance));
  for (int i = 0; i < kMaxIterations; ++i) {
    const auto reached = distort<Dual2>({{uv.x, 0}, {uv.y, 1}});
    const Vec2<double> missing = distorted - value(reached);
    const Vec2<double> step = solve(reached, missing);
    double part = 1;
    const auto comes_closer = [&] { return length(distorted - distort(uv + step * part)) < length(missing); };
    while (part > kMinStepPart && !comes_closer()) part /= 2;
    if (part <= kMinStepPart) break;  // converged to rounding error, or stuck
    uv = uv + step * part;
  }
  return uv;
}

}  // namespace stipple
