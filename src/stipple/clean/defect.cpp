// SPDX-License-Identifier: Apache-2.0
#include "stipple/clean/defect.h"

#include <algorithm>
#include <cassert>

namespace stipple {

namespace {

// Limits of the fields of Shape, found on models of real captures and of the built-in scene.
struct ShapeLimits {
  float remoteness, bulk, reach, elongation, length, isolation;
};
constexpr ShapeLimits kCertain{
    .remoteness = 10, .bulk = 0.3f, .reach = 0.5f, .elongation = 20, .length = 10, .isolation = 20};
constexpr ShapeLimits kSuspicious{
    .remoteness = 4, .bulk = 0.05f, .reach = 0.3f, .elongation = 8, .length = 2, .isolation = 8};

// Limits of Evidence::nearness. A sky is large, too, but far away.
constexpr float kNear = 2, kSuspiciouslyNear = 1.5f, kForeground = 0.5f;
constexpr float kLargeShare = 0.5f;              // of the screen
constexpr float kFewViews = 3, kOneView = 1.5f;  // Evidence::effective_views()
constexpr float kFewShare = 0.25f;      // of all views at most: with few views, everything is seen by few
constexpr int kFramingViews = 5;        // cameras that look at a Gaussian before one view is too few
constexpr float kUnseenAreaPx = 0.05f;  // over all photos

Defect defect_of(const Shape& s, const ShapeLimits& limits) {
  if (!s.is_finite) return Defect::kNonFinite;
  if (s.remoteness > limits.remoteness) return Defect::kFarOutside;
  if (s.bulk > limits.bulk && s.reach > limits.reach) return Defect::kOversized;
  if (s.elongation > limits.elongation && s.length > limits.length) return Defect::kSpike;
  if (s.isolation > limits.isolation) return Defect::kFloater;
  return Defect::kNone;
}

Defect defect_of(const Shape& s, const Evidence& e, float view_count) {
  if (const Defect certain = defect_of(s, kCertain); certain != Defect::kNone) return certain;
  const auto is_seen_by = [&](float views) {
    return e.effective_views() < std::min(views, kFewShare * view_count);
  };
  if (e.need <= 0) {
    if (const Defect suspected = defect_of(s, kSuspicious); suspected != Defect::kNone) return suspected;
    if (e.screen_share > kLargeShare && e.nearness > kForeground) return Defect::kOversized;
    if (e.nearness > kSuspiciouslyNear && is_seen_by(2 * kFewViews)) return Defect::kFloater;
  }
  if (e.nearness > kNear && is_seen_by(kFewViews)) return Defect::kFloater;
  if (e.area_px < kUnseenAreaPx) return Defect::kUnsupported;
  if (e.framed >= kFramingViews && is_seen_by(kOneView)) return Defect::kUnsupported;
  return Defect::kNone;
}

}  // namespace

std::vector<Defect> find_defects(std::span<const Shape> shapes) {
  std::vector<Defect> defects(shapes.size());
  std::transform(shapes.begin(), shapes.end(), defects.begin(),
                 [](const Shape& shape) { return defect_of(shape, kCertain); });
  return defects;
}

std::vector<Defect> find_defects(std::span<const Shape> shapes, std::span<const Evidence> evidence,
                                 std::size_t view_count) {
  assert(shapes.size() == evidence.size());
  std::vector<Defect> defects(shapes.size());
  for (std::size_t i = 0; i < shapes.size(); ++i)
    defects[i] = defect_of(shapes[i], evidence[i], static_cast<float>(view_count));
  return defects;
}

}  // namespace stipple
