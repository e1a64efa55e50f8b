// SPDX-License-Identifier: Apache-2.0
// Laurentini, "The visual hull concept for silhouette-based image understanding", 1994.
//
// Rays are cast from random pixels of the silhouettes. A point on a ray is in the hull if nearly all cameras
// that see it see it inside their silhouettes. The first such point is on the surface, and what the ray's
// pixel shows is its colour, since nothing else of the hull lies before it.
#include "stipple/scene/visual_hull.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "stipple/camera/pinhole_lens.h"
#include "stipple/camera/pose.h"
#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/core/random.h"
#include "stipple/core/spread.h"
#include "stipple/io/input_file.h"
#include "stipple/photo/load_photo.h"
#include "stipple/scene/layout.h"

namespace stipple {

namespace {

constexpr std::size_t kMaxViews = 64;  // more hardly change the hull
constexpr int kMaxSidePx = 512;
constexpr std::uint8_t kSolid = 64;              // fainter pixels have too few bits left to tell their colour
constexpr float kNearest = 0.2f, kFarthest = 2;  // of a ray, times the distance to what its camera looks at
constexpr int kStepsPerRay = 192, kHalvings = 3;
constexpr std::size_t kExceptions = 32;  // one view in so many may be wrong
constexpr std::size_t kRounds = 4;       // of as many rays as points are wanted
constexpr std::size_t kProbes = 2000;    // rays that find out where the hull is
constexpr std::size_t kFewestPart = 50;  // if fewer of them hit it, there is none
constexpr float kMargin = 1.25f;         // for parts that all of them missed

struct Silhouette {
  Camera camera;
  Photo photo;
  std::vector<std::uint32_t> solid;  // pixels
  float focus_z = 0;                 // of what the camera looks at

  std::uint8_t alpha_at(Vec2f pixel) const {
    return photo
        .alpha[static_cast<std::size_t>(pixel.y) * photo.width_px + static_cast<std::size_t>(pixel.x)];
  }
};

SceneView shrunk(SceneView view) {
  Camera& camera = view.camera;
  const int side = std::max(camera.width_px, camera.height_px);
  view.alpha = AlphaUse::kObject;
  view.mask_path.clear();
  if (side <= kMaxSidePx) return view;
  const auto scaled = [&](int px) { return std::max(1, px * kMaxSidePx / side); };
  camera = resized(camera, scaled(camera.width_px), scaled(camera.height_px));
  return view;
}

// Nothing for a photo that shows no object, is opaque, or cannot be read; training reports the last.
std::optional<Silhouette> load_silhouette(const SceneView& full_size, float focus_z) try {
  const SceneView view = shrunk(full_size);
  Silhouette s{view.camera, load_photo(view), {}, focus_z};
  for (std::size_t i = 0; i < s.photo.alpha.size(); ++i)
    if (s.photo.alpha[i] >= kSolid) s.solid.push_back(static_cast<std::uint32_t>(i));
  return s.solid.empty() ? std::nullopt : std::optional(std::move(s));
} catch (const ReadError&) {
  throw;
} catch (const Error&) {
  return {};
}

std::vector<Silhouette> load_silhouettes(std::span<const SceneView> views, std::uint64_t seed) {
  std::vector<std::size_t> sample = spread(views.size(), kMaxViews);
  // In random order, so that the views that are tried first differ, and a point outside is soon refuted.
  Random random(seed);
  for (std::size_t i = sample.size(); i > 1; --i) std::swap(sample[i - 1], sample[random.below(i)]);
  std::vector<std::optional<Silhouette>> loaded(sample.size());
  const Vec3f focus = focus_of(views);
  const float least = 0.1f * camera_spread(views);
  parallel_for(sample.size(), [&](std::size_t i) {
    const SceneView& view = views[sample[i]];
    loaded[i] = load_silhouette(view, focus_z(view.camera, focus, least));
  });
  std::vector<Silhouette> silhouettes;
  for (std::optional<Silhouette>& s : loaded)
    if (s) silhouettes.push_back(*std::move(s));
  return silhouettes;
}

struct HullPoint {
  Vec3f position;
  std::array<std::uint8_t, 3> color;
};

class Hull {
 public:
  // Of at least two silhouettes.
  explicit Hull(std::vector<Silhouette> silhouettes) : silhouettes_(std::move(silhouettes)) {}

  static constexpr std::uint64_t kDrawsPerRay = 5;

  // Casts a random ray. Nothing if it misses the hull, or hits it only in parts thinner than a step.
  std::optional<HullPoint> cast(Random random) const {
    const Silhouette& s = silhouettes_[random.below(silhouettes_.size())];
    const std::uint32_t at = s.solid[random.below(s.solid.size())];
    const auto width = static_cast<std::uint32_t>(s.photo.width_px);
    const Vec2f pixel(static_cast<float>(at % width) + random.uniform(),
                      static_cast<float>(at / width) + random.uniform());
    const float step = (kFarthest - kNearest) / kStepsPerRay * s.focus_z;
    const float middle = dot(center_ - center_of(s.camera), axis_of(s.camera));
    const float end = std::min(kFarthest * s.focus_z, middle + radius_);
    float z = std::max(kNearest * s.focus_z, middle - radius_) + random.uniform() * step;
    for (; z < end; z += step)
      if (contains(point_at(s.camera, pixel, z)))
        return HullPoint{point_at(s.camera, pixel, surface_z(s.camera, pixel, z - step, z)),
                         s.photo.color_at(at)};
    return {};
  }

  // From now on, rays are followed only through a ball around these points, which takes a fraction of the
  // time.
  void bound(std::span<const Vec3f> points) {
    center_ = {0, 0, 0};
    for (const Vec3f& p : points) center_ = center_ + p * (1 / static_cast<float>(points.size()));
    radius_ = 0;
    for (const Vec3f& p : points) radius_ = std::max(radius_, std::sqrt(dot(p - center_, p - center_)));
    radius_ *= kMargin;
  }

 private:
  // At least half of the cameras must see the point: what only a few see may lie in their silhouettes
  // although it is close to one of them, far from the object.
  bool contains(Vec3f point) const {
    const std::size_t count = silhouettes_.size(), most_unseen = count - std::max<std::size_t>(2, count / 2);
    std::size_t unseen = 0, outside = 0;
    for (const Silhouette& s : silhouettes_) {
      const std::optional<Vec3f> seen = project_point(s.camera, point);
      unseen += !seen;
      outside += seen && s.alpha_at({seen->x, seen->y}) == 0;
      if (unseen > most_unseen || outside * kExceptions > count) return false;
    }
    return outside * kExceptions <= count - unseen;
  }

  // Where the ray enters the hull, between a point outside and one inside.
  float surface_z(const Camera& camera, Vec2f pixel, float outside, float inside) const {
    for (int i = 0; i < kHalvings; ++i) {
      const float middle = (outside + inside) / 2;
      (contains(point_at(camera, pixel, middle)) ? inside : outside) = middle;
    }
    return inside;
  }

  std::vector<Silhouette> silhouettes_;
  Vec3f center_{0, 0, 0};  // of a ball around the hull
  float radius_ = std::numeric_limits<float>::infinity();
};

// Casts `count` rays and adds the points that they hit.
void cast(const Hull& hull, std::uint64_t seed, std::size_t first_ray, std::size_t count, Points& points) {
  std::vector<std::optional<HullPoint>> hits(count);
  parallel_for(
      count, [&](std::size_t i) { hits[i] = hull.cast(Random(seed, (first_ray + i) * Hull::kDrawsPerRay)); },
      64);
  for (const std::optional<HullPoint>& hit : hits)
    if (hit) {
      points.position.push_back(hit->position);
      points.color.push_back(hit->color);
    }
}

}  // namespace

Points carve_points(std::span<const SceneView> views, std::size_t count, std::uint64_t seed) {
  Points points;
  if (views.empty() || count == 0) return points;
  std::vector<Silhouette> silhouettes = load_silhouettes(views, seed);
  if (silhouettes.size() < 2) return points;
  Hull hull(std::move(silhouettes));
  Points probes;
  cast(hull, seed, 0, kProbes, probes);
  if (probes.size() * kFewestPart < kProbes) return points;
  hull.bound(probes.position);
  std::size_t ray = kProbes;
  for (std::size_t round = 0; round < kRounds && points.size() < count; ++round, ray += count)
    cast(hull, seed, ray, count, points);
  points.position.resize(std::min(points.size(), count));
  points.color.resize(points.position.size());
  return points;
}

}  // namespace stipple
