// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/check_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "stipple/camera/pose.h"
#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/core/quantile.h"
#include "stipple/photo/load_photo.h"
#include "stipple/scene/formats/colmap.h"
#include "stipple/scene/layout.h"
#include "stipple/scene/point_colors.h"
#include "stipple/scene/random_points.h"
#include "stipple/scene/scene_source.h"
#include "stipple/scene/seen_points.h"

namespace stipple {

namespace {

constexpr std::size_t kFewPoints = 30;     // a view that sees fewer points is hardly tied to the scene
constexpr float kFarOutlier = 20;          // times the median distance from the centre of the cameras
constexpr float kMaxRounding = 1e-4f;      // of coordinates, relative to the spread of the cameras
constexpr std::size_t kSampledViews = 50;  // in which points are counted: each costs a look at every point
constexpr std::size_t kFewViews = 12;      // fewer rarely make a scene that looks right from new viewpoints
// Parameters and both moments (59 floats each at SH degree 3), a splat and its gradient, and bins and partial
// gradients for about three tiles. Measured on the CPU backend with a million Gaussians.
constexpr std::size_t kBytesPerGaussian = 1100;

class Checker {
 public:
  explicit Checker(SceneReport& report) : report_(report), scene_(report.scene) {}

  void check() {
    count();
    check_photos();
    check_poses();
    check_points();
    if (scene_.train_views().empty())
      add(true, "no photo is left to train on", "Add photos, or hold out fewer.");
    else if (scene_.views.size() < kFewViews)
      add(false, fmt::format("the scene has only {}", count_of(scene_.views.size(), "photo")),
          "Expect holes and floaters; a good scene has 50 or more photos from all around.");
  }

 private:
  void add(bool is_fatal, std::string what, std::string advice) {
    report_.problems.push_back({is_fatal, std::move(what), std::move(advice)});
  }

  void count() {
    for (const SceneView& view : scene_.views) {
      ++report_.image_count_from_model[view.lens.model];
      ++report_.image_count_from_size[fmt::format("{}x{}", view.camera.width_px, view.camera.height_px)];
      report_.mask_count += !view.mask_path.empty();
    }
    report_.bytes_per_million_gaussians = kBytesPerGaussian * 1'000'000;
  }

  void check_photos() {
    std::mutex mutex;
    // By view, so that the report does not depend on the order of the threads.
    std::map<std::size_t, std::string> broken, empty;
    parallel_for(scene_.views.size(), [&](std::size_t i) {
      std::string error;
      bool counts = true;
      std::size_t bytes = 0;
      try {
        const Photo photo = load_photo(scene_.views[i]);
        bytes = photo.size_bytes();
        counts = photo.weight.empty() ||
                 std::any_of(photo.weight.begin(), photo.weight.end(), [](std::uint8_t w) { return w > 0; });
      } catch (const Error& e) {
        error = e.what();
      }
      const std::lock_guard lock(mutex);
      report_.photo_bytes += bytes;
      if (!error.empty()) broken[i] = error;
      if (!counts) empty[i] = scene_.views[i].name;
    });
    if (!broken.empty())
      add(true, describe({broken.size(), broken.begin()->second}, "photo", "cannot be read"),
          "Copy them again or remove them from the folder; training stops at a photo that it cannot read.");
    if (!empty.empty())
      add(false, describe({empty.size(), empty.begin()->second}, "photo", "entirely masked out"),
          "White pixels of a mask count and black ones do not; check that the masks are not inverted.");
  }

  void check_poses() {
    std::vector<Vec3f> centers;
    for (const SceneView& v : scene_.views) centers.push_back(center_of(v.camera));
    const Vec3f middle = median_of(centers);
    std::vector<float> distance;
    for (Vec3f c : centers) distance.push_back(std::sqrt(dot(c - middle, c - middle)));
    const float typical = quantile_of(distance, 0.5f);
    const float widest = *std::max_element(distance.begin(), distance.end());
    const float rounding = std::sqrt(dot(middle, middle)) * std::numeric_limits<float>::epsilon();
    if (widest > 0 && rounding > kMaxRounding * widest)
      return add(true,
                 fmt::format("the scene is so far from the origin that its coordinates are accurate only to "
                             "{:.3g}, while all cameras lie within {:.3g} of their centre",
                             rounding, widest),
                 "Export it in local coordinates, with the origin at its centre.");
    Dropped far;
    for (std::size_t i = 0; i < distance.size(); ++i)
      if (distance[i] > kFarOutlier * typical && typical > 0) far.add(scene_.views[i].name);
    if (far.count > 0)
      add(false, describe(far, "photo", "taken very far from the others"),
          "Their poses are probably wrong; remove them if the result looks foggy.");
    if (scene_.views.size() > 1 && widest == 0)
      add(true, "all photos were taken from the same place",
          "A single viewpoint does not reveal depth; walk around while taking photos.");
  }

  void check_points() {
    if (!scene_.has_measured_points()) return;
    report_.points_per_image = typical_point_count();
    if (lack_colors(scene_.points))
      add(false, "the points have no colours: nearly all are the same",
          "Training takes their colours from the photos that see them; export the points with their colours "
          "if you can.");
    Dropped few;
    for (const SceneView& view : scene_.views)
      if (!sees_enough(view.camera)) few.add(view.name);
    if (few.count > 0)
      add(false, describe(few, "photo", fmt::format("with fewer than {} points in view", kFewPoints)),
          "Their poses may be wrong, or they look away from the scene.");
  }

  std::size_t typical_point_count() const {
    std::vector<float> counts;
    const std::size_t every = (scene_.views.size() + kSampledViews - 1) / kSampledViews;
    for (std::size_t i = 0; i < scene_.views.size(); i += every)
      counts.push_back(
          static_cast<float>(visible_points(scene_.views[i].camera, scene_.points.position).size()));
    return static_cast<std::size_t>(quantile_of(std::move(counts), 0.5f));
  }

  // Stops early: most views need only a few points, which matters with 10,000 views and millions of points.
  bool sees_enough(const Camera& camera) const {
    std::size_t seen = 0;
    for (const Vec3f& p : scene_.points.position) {
      seen += project_point(camera, p).has_value();
      if (seen >= kFewPoints) return true;
    }
    return false;
  }

  static Vec3f median_of(const std::vector<Vec3f>& points) {
    Vec3f result;
    for (int k = 0; k < 3; ++k) {
      std::vector<float> values;
      for (const Vec3f& p : points) values.push_back(p[k]);
      result[k] = quantile_of(std::move(values), 0.5f);
    }
    return result;
  }

  SceneReport& report_;
  const Scene& scene_;
};

}  // namespace

bool SceneReport::would_train() const {
  return std::none_of(problems.begin(), problems.end(), [](const SceneProblem& p) { return p.is_fatal; });
}

SceneReport check_scene(const std::filesystem::path& path, const SceneOptions& options) {
  SceneReport report;
  try {
    report.scene = load_scene(path, options);
  } catch (const Error& error) {
    report.scene.path = path;
    report.problems.push_back({true, error.what(), ""});
    return report;
  }
  report.problems = report.scene.problems;
  Checker(report).check();
  return report;
}

}  // namespace stipple
