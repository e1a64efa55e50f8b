// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/color_points.h"

#include <algorithm>
#include <cassert>
#include <tuple>

#include "stipple/camera/pose.h"
#include "stipple/core/parallel.h"
#include "stipple/scene/point_colors.h"
#include "stipple/scene/seen_points.h"

namespace stipple {

namespace {

using Color = std::array<std::uint8_t, 3>;

constexpr std::uint8_t kGrey = 128;         // of a point that no photo shows; far from both ends of the range
constexpr std::uint8_t kLeastWeight = 128;  // of a pixel that counts
constexpr std::size_t kMostViews = 16;      // whose colours are compared

struct Sample {
  bool is_hidden;
  float distance2;  // from the camera to the point
  Color color;

  bool operator<(const Sample& other) const {  // is more likely to show the point
    return std::tie(is_hidden, distance2) < std::tie(other.is_hidden, other.distance2);
  }
};

// The colours of a point in the best views so far.
class Samples {
 public:
  void add(const Sample& sample) {
    if (count_ < kMostViews) {
      samples_[count_++] = sample;
      return;
    }
    Sample& worst = *std::ranges::max_element(samples_, std::less<>());
    if (sample < worst) worst = sample;
  }

  // Over the views in which the point is not hidden, if there are any. The median bears some in which it is
  // after all.
  Color median() const {
    Color median{kGrey, kGrey, kGrey};
    const auto end = samples_.begin() + count_;
    const bool all_hidden = std::all_of(samples_.begin(), end, [](const Sample& s) { return s.is_hidden; });
    for (std::size_t c = 0; c < 3 && count_ > 0; ++c) {
      std::vector<std::uint8_t> values;
      for (auto s = samples_.begin(); s != end; ++s)
        if (s->is_hidden == all_hidden) values.push_back(s->color[c]);
      const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
      std::ranges::nth_element(values, middle);
      median[c] = *middle;
    }
    return median;
  }

 private:
  std::array<Sample, kMostViews> samples_;
  std::uint32_t count_ = 0;
};

constexpr std::size_t kGrain = 1 << 12;

void add_view(const Camera& camera, const Photo& photo, const std::vector<Vec3f>& points,
              std::vector<Samples>& samples) {
  assert(photo.width_px == camera.width_px && photo.height_px == camera.height_px);
  const SeenPoints seen = see_points(camera, points);
  const FrontDepths front(camera, seen);
  const Vec3f center = center_of(camera);
  parallel_for(
      points.size(),
      [&](std::size_t i) {
        if (!seen[i]) return;
        const auto x = static_cast<std::size_t>(seen[i]->x), y = static_cast<std::size_t>(seen[i]->y);
        const std::size_t pixel = y * static_cast<std::size_t>(photo.width_px) + x;
        if (!photo.weight.empty() && photo.weight[pixel] < kLeastWeight) return;
        if (!photo.alpha.empty() && photo.alpha[pixel] < kLeastWeight) return;
        const Vec3f offset = points[i] - center;
        samples[i].add({front.hides(*seen[i]), dot(offset, offset), photo.color_at(pixel)});
      },
      kGrain);
}

}  // namespace

Points colored_points(const Scene& scene, std::span<const std::size_t> views, PhotoCache& photos) {
  Points points = scene.points;
  if (!scene.has_random_points && !lack_colors(points)) return points;
  std::vector<Samples> samples(points.size());
  photos.prefetch(views);
  for (std::size_t view : views)
    add_view(scene.views[view].camera, *photos.get(view), points.position, samples);
  std::ranges::transform(samples, points.color.begin(), &Samples::median);
  return points;
}

}  // namespace stipple
