// SPDX-License-Identifier: Apache-2.0
#pragma once
// Compares what a backend computed in float with the reference in double: per Gaussian, so that large
// gradients do not hide errors in small ones, and only at pixels where both made the same decisions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/helpers/backend_run.h"

namespace stipple {

// One row of numbers per Gaussian: its gradient with respect to one group of parameters.
struct Rows {
  std::string name;
  std::size_t width;
  std::vector<double> values;

  std::size_t count() const { return values.size() / width; }
  double length(std::size_t row) const {
    double sum = 0;
    for (std::size_t k = row * width; k < (row + 1) * width; ++k) sum += values[k] * values[k];
    return std::sqrt(sum);
  }
};

// Rows made of the numbers [first, first + width) out of every `stride` numbers of an array. T consists of
// values of type Number.
template <class Number, class T>
Rows rows_of(const std::vector<T>& from, std::size_t stride, std::size_t first, std::size_t width,
             std::string name) {
  static_assert(sizeof(T) % sizeof(Number) == 0);
  const Number* numbers = reinterpret_cast<const Number*>(from.data());
  const std::size_t count = from.size() * (sizeof(T) / sizeof(Number)) / stride;
  Rows rows{std::move(name), width, {}};
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = first; k < first + width; ++k)
      rows.values.push_back(static_cast<double>(numbers[i * stride + k]));
  return rows;
}

constexpr std::size_t kSplatNumbers = 10;
static_assert(sizeof(Splat) == kSplatNumbers * sizeof(float));
static_assert(sizeof(Math<double>::Splat) == kSplatNumbers * sizeof(double));

template <class Number, class T>
std::vector<Rows> splat_rows(const std::vector<T>& splats) {
  const auto rows = [&](std::size_t first, std::size_t width, const char* name) {
    return rows_of<Number>(splats, kSplatNumbers, first, width, name);
  };
  return {rows(0, 2, "splat mean"), rows(2, 3, "conic"), rows(5, 1, "splat opacity"), rows(6, 3, "colour"),
          rows(9, 1, "depth channel")};
}

// G is Gaussians or the reference's scene. Each degree of the harmonics is a separate group.
template <class Number, class G>
std::vector<Rows> parameter_rows(const G& g) {
  std::vector<Rows> groups = {rows_of<Number>(g.mean, 3, 0, 3, "mean"),
                              rows_of<Number>(g.log_scale, 3, 0, 3, "log_scale"),
                              rows_of<Number>(g.rotation, 4, 0, 4, "rotation"),
                              rows_of<Number>(g.logit_opacity, 1, 0, 1, "logit_opacity")};
  const auto degrees = static_cast<std::size_t>(g.sh_degree) + 1;
  for (std::size_t l = 0; l < degrees; ++l)
    groups.push_back(rows_of<Number>(g.sh, 3 * degrees * degrees, 3 * l * l, 3 * (2 * l + 1),
                                     "sh of degree " + std::to_string(l)));
  return groups;
}

inline Vec4<double> without_signs(Vec4<double> v) {
  return {std::abs(v.x), std::abs(v.y), std::abs(v.z), std::abs(v.w)};
}

// Whether the point lies in the splat's bounding box, slightly enlarged; nothing is drawn outside that box.
inline bool is_within_reach(const Math<double>::Footprint& f, Vec2<double> pixel) {
  return std::abs(pixel.x - f.mean_px.x) <= 1.01 * f.half_extent_px.x + 0.01 &&
         std::abs(pixel.y - f.mean_px.y) <= 1.01 * f.half_extent_px.y + 0.01;
}

inline double* numbers(Math<double>::Splat& s) { return reinterpret_cast<double*>(&s); }
inline const double* numbers(const Math<double>::Splat& s) { return reinterpret_cast<const double*>(&s); }

// Adds the squares of the terms that blend_vjp computes for one splat at one pixel.
inline void add_squares(const Math<double>::Splat& s, const Contribution<double>& c, Vec2<double> pixel,
                        double alpha_max, Vec4<double> dL_dchannels, double dL_dalpha,
                        Math<double>::Splat& sum) {
  const double unclamped = Math<double>::unclamped_alpha(s, pixel);
  if (unclamped >= alpha_max) dL_dalpha = 0;
  const double dL_dsigma = c.alpha * dL_dalpha, xy = std::abs(s.conic.y);
  const double dx = std::abs(s.mean_px.x - pixel.x), dy = std::abs(s.mean_px.y - pixel.y);
  const Math<double>::Splat term{Vec2<double>(s.conic.x * dx + xy * dy, xy * dx + s.conic.z * dy) * dL_dsigma,
                                 Vec3<double>(dx * dx / 2, dx * dy, dy * dy / 2) * dL_dsigma,
                                 unclamped / s.opacity * dL_dalpha, dL_dchannels * (c.alpha * c.front)};
  for (std::size_t k = 0; k < kSplatNumbers; ++k) numbers(sum)[k] += numbers(term)[k] * numbers(term)[k];
}

// The error scale of gradients: the unit in which their errors are measured. Tests use an image gradient that
// is random at every pixel, so the gradient of a Gaussian is a sum of independent terms, one per pixel.
// Rounding errors are proportional to these terms, so the scale is the root of the sum of their squares,
// which is about the magnitude of the sum itself unless the sum happens to cancel. Each term is computed from
// absolute values, because the contribution of the Gaussian and that of what lies behind it may cancel within
// the term. A backend may compute what lies behind as a small difference between the whole pixel and what
// lies in front; therefore a share of the whole pixel counts as well.
constexpr double kShareOfWhole = 0.01;

// The error scale of the splats' gradients.
inline std::vector<Math<double>::Splat> splat_error_scale(const Reference& scene,
                                                          const std::vector<ReferenceSplat<double>>& splats,
                                                          const Picture& dL_dpicture) {
  std::vector<Math<double>::Splat> sums(splats.size(),
                                        Math<double>::Splat{{0, 0}, {0, 0, 0}, 0, {0, 0, 0, 0}});
  const std::vector<std::size_t> order = reference_order(splats);
  std::size_t at = 0;
  for (int y = 0; y < scene.height(); ++y)
    for (int x = 0; x < scene.width(); ++x, ++at) {
      const Vec2<double> pixel = pixel_center<double>(x, y);
      std::vector<std::size_t> near;  // the other splats do not reach this pixel
      for (const std::size_t i : order)
        if (is_within_reach(splats[i].footprint, pixel)) near.push_back(i);
      const auto walk = reference_walk(scene, splats, near, pixel);
      const Vec4<double> g = without_signs(dL_dpicture.channels[at]);
      const auto shown = [&](const Contribution<double>& c) {
        return dot(without_signs(splats[c.gaussian].splat.channels), g) + std::abs(dL_dpicture.alpha[at]);
      };
      double behind = final_transmittance(walk) * dot(scene.background, Vec3<double>(g.x, g.y, g.z));
      double whole = behind;
      for (const auto& c : walk) whole += shown(c) * c.alpha * c.front;
      for (auto c = walk.rbegin(); c != walk.rend(); ++c) {
        const double dL_dalpha = shown(*c) * c->front + (behind + kShareOfWhole * whole) / (1 - c->alpha);
        add_squares(splats[c->gaussian].splat, *c, pixel, scene.settings.alpha_max, g, dL_dalpha,
                    sums[c->gaussian]);
        behind += shown(*c) * c->alpha * c->front;
      }
    }
  for (auto& sum : sums)
    for (std::size_t k = 0; k < kSplatNumbers; ++k) numbers(sum)[k] = std::sqrt(numbers(sum)[k]);
  return sums;
}

// The error scale of the parameters' gradients, to which every number of a splat's gradient contributes.
inline std::vector<Rows> parameter_error_scale(const Reference& scene,
                                               const std::vector<ReferenceSplat<double>>& splats,
                                               const std::vector<Math<double>::Splat>& splat_scale) {
  std::vector<Rows> sums;
  for (std::size_t k = 0; k < kSplatNumbers; ++k) {
    Reference g = zero_gradient_of(scene);
    for (std::size_t i = 0; i < splats.size(); ++i) {
      if (splats[i].footprint.opacity == 0) continue;
      Math<double>::Splat only{{0, 0}, {0, 0, 0}, 0, {0, 0, 0, 0}};
      numbers(only)[k] = numbers(splat_scale[i])[k];
      reference_project_backward(scene, splats[i], i, only, g);
    }
    std::vector<Rows> part = parameter_rows<double>(g);
    for (Rows& rows : part)
      for (double& v : rows.values) v *= v;
    if (k == 0) sums = part;
    for (std::size_t group = 0; k > 0 && group < part.size(); ++group)
      for (std::size_t j = 0; j < part[group].values.size(); ++j)
        sums[group].values[j] += part[group].values[j];
  }
  for (Rows& rows : sums)
    for (double& v : rows.values) v = std::sqrt(v);
  return sums;
}

// Expects the length of each row's error to be at most `tolerance` times the length of the same row of
// `scale`.
inline void expect_rows_near(const Rows& ours, const Rows& expected, const Rows& scale, double tolerance) {
  ASSERT_EQ(ours.values.size(), expected.values.size()) << expected.name;
  Rows error = expected;
  for (std::size_t j = 0; j < error.values.size(); ++j) error.values[j] -= ours.values[j];
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < error.count(); ++i) {
    if (error.length(i) <= tolerance * scale.length(i)) continue;  // false for NaN
    if (++wrong <= 3)
      ADD_FAILURE() << expected.name << " of Gaussian " << i << ": the gradient has length "
                    << expected.length(i) << ", its error " << error.length(i) << ", but at most "
                    << tolerance * scale.length(i) << " is allowed";
  }
  EXPECT_EQ(wrong, 0u) << "number of Gaussians with a wrong gradient: " << expected.name;
}

inline void expect_rows_near(const std::vector<Rows>& ours, const std::vector<Rows>& expected,
                             const std::vector<Rows>& scale, double tolerance) {
  ASSERT_EQ(ours.size(), expected.size());
  for (std::size_t group = 0; group < expected.size(); ++group)
    expect_rows_near(ours[group], expected[group], scale[group], tolerance);
}

// At a pixel, float and double may decide differently whether a splat is drawn (alpha at least 1/255),
// whether its alpha is clamped, where the pixel is finished, and which of two splats at almost the same depth
// is in front. Such a pixel says nothing about the rest of the computation. To find these pixels, this class
// blends both the reference's and the backend's splats in double. A decision counts as the same only if every
// value between the two leads to it, with a margin on either side for the backend's rounding at the pixel
// itself.
class PixelDecisions {
 public:
  PixelDecisions(const std::vector<ReferenceSplat<double>>& reference,
                 const std::vector<ProjectedSplat>& ours, double alpha_max)
      : alpha_max_(alpha_max) {
    for (std::size_t i = 0; i < ours.size(); ++i)
      if (ours[i].splat.opacity > 0 || reference[i].footprint.opacity > 0)
        pairs_.push_back(make_pair(reference[i], ours[i], i));
    std::stable_sort(pairs_.begin(), pairs_.end(),
                     [](const Pair& a, const Pair& b) { return a.reference_depth < b.reference_depth; });
  }

  bool are_the_same(Vec2<double> pixel) const {
    Range transmittance{1, 1};
    const Pair* front = nullptr;
    for (const Pair& pair : pairs_) {
      if (std::abs(pixel.x - pair.mean_px.x) > pair.reach_px.x ||
          std::abs(pixel.y - pair.mean_px.y) > pair.reach_px.y)
        continue;
      Range alpha = alpha_range(pair, pixel);
      if (alpha.holds(M::min_alpha) || alpha.holds(alpha_max_)) return false;
      if (alpha.high < M::min_alpha) continue;
      if (front && !is_in_front(*front, pair)) return false;
      front = &pair;
      alpha = {std::min(alpha.low, alpha_max_), std::min(alpha.high, alpha_max_)};
      transmittance = {transmittance.low * (1 - alpha.high), transmittance.high * (1 - alpha.low)};
      if (transmittance.holds(M::min_transmittance)) return false;
      if (transmittance.high < M::min_transmittance) return true;
    }
    return true;
  }

 private:
  using M = Math<double>;

  struct Range {
    double low, high;
    bool holds(double x) const { return low <= x && x <= high; }
  };

  struct Pair {  // one Gaussian as the reference and the backend project it
    M::Splat reference, ours;
    Vec2<double> mean_px, reach_px;
    double reference_depth;
    float depth;
    std::size_t gaussian;
  };

  static Pair make_pair(const ReferenceSplat<double>& r, const ProjectedSplat& o, std::size_t gaussian) {
    const Splat& s = o.splat;
    const M::Splat ours{{s.mean_px.x, s.mean_px.y},
                        {s.conic.x, s.conic.y, s.conic.z},
                        s.opacity,
                        {s.channels.x, s.channels.y, s.channels.z, s.channels.w}};
    Pair pair{r.splat,           ours,    r.splat.mean_px, r.footprint.half_extent_px,
              r.footprint.depth, o.depth, gaussian};
    // If only one of the two projections is culled, its other values are meaningless.
    if (r.footprint.opacity == 0) {
      pair.reference = ours;
      pair.reference.opacity = 0;
      pair.mean_px = ours.mean_px;
      pair.reach_px = {o.half_extent_px.x, o.half_extent_px.y};
    } else if (s.opacity == 0) {
      pair.ours = r.splat;
      pair.ours.opacity = 0;
    }
    pair.reach_px = pair.reach_px * 1.01 + Vec2<double>(0.01, 0.01);
    return pair;
  }

  static Range alpha_range(const Pair& pair, Vec2<double> pixel) {
    const double a = M::unclamped_alpha(pair.reference, pixel), b = M::unclamped_alpha(pair.ours, pixel);
    // For a needle, the terms of the exponent are much larger than their sum.
    const Vec2<double> d = pair.reference.mean_px - pixel;
    const Vec3<double> q = pair.reference.conic;
    const double terms = 0.5 * (q.x * d.x * d.x + q.z * d.y * d.y) + std::abs(q.y * d.x * d.y);
    const double rounding = kRounding * (16 + terms);
    return {std::min(a, b) * (1 - rounding), std::max(a, b) * (1 + rounding)};
  }

  static bool is_in_front(const Pair& front, const Pair& back) {
    return front.depth < back.depth || (front.depth == back.depth && front.gaussian < back.gaussian);
  }

  static constexpr double kRounding = 5e-7;  // a few units in the last place of a float

  std::vector<Pair> pairs_;
  double alpha_max_;
};

// 1 for pixels where the decisions are the same, 0 for the others. Expects the latter to be at most
// `max_share` of all pixels.
inline std::vector<char> pixels_decided_alike(const Reference& scene,
                                              const std::vector<ReferenceSplat<double>>& splats,
                                              const std::vector<ProjectedSplat>& ours, double max_share) {
  const PixelDecisions decisions(splats, ours, scene.settings.alpha_max);
  std::vector<char> alike;
  for (int y = 0; y < scene.height(); ++y)
    for (int x = 0; x < scene.width(); ++x)
      alike.push_back(decisions.are_the_same(pixel_center<double>(x, y)));
  const auto different = static_cast<double>(std::count(alike.begin(), alike.end(), 0));
  EXPECT_LE(different, max_share * static_cast<double>(alike.size()))
      << "number of pixels with different decisions";
  return alike;
}

}  // namespace stipple
