// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/source_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/scene/formats/points_beside.h"
#include "stipple/scene/formats/points_file.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

// Beyond this many times the size of the scene, positions in 32-bit numbers are off by more than 1/10,000 of
// that size.
constexpr double kFar = 1000;

double length(Vec3<double> v) { return std::sqrt(dot(v, v)); }

}  // namespace

void report(const Dropped& dropped, const char* noun, const char* what, const char* advice,
            std::vector<SceneProblem>& to) {
  if (dropped.count == 0) return;
  to.push_back({false, describe(dropped, noun, what), advice});
}

void report_duplicates(const Dropped& duplicates, std::vector<SceneProblem>& to) {
  report(duplicates, "image", "with a duplicate name", "Only the first image of each name is used.", to);
}

void report_unusable_camera(std::size_t image_count, const std::string& why, std::vector<SceneProblem>& to) {
  if (image_count == 0) return;
  to.push_back({false, fmt::format("{} with an unusable camera: {}", count_of(image_count, "image"), why),
                "They are left out."});
}

void SourceBuilder::add(Image image) {
  if (!image.frame) return bad_poses_.add(image.name);
  if (!image.lens.lens.unsupported.empty()) return unusable_[image.lens.lens.unsupported].add(image.name);
  if (!names_.insert(image.name).second) return twice_.add(image.name);
  if (image.lens.shift > 0) simplified_.add(fmt::format("{} ({})", image.name, image.lens.terms));
  images_.push_back(std::move(image));
}

void SourceBuilder::add_point(const std::string& name, Vec3<double> position,
                              std::array<std::uint8_t, 3> color) {
  if (!is_near(position)) return add_broken_point(name);
  positions_.push_back(position);
  colors_.push_back(color);
}

std::string SourceBuilder::add_points_beside(const fs::path& folder) {
  const PointsBeside found = find_points_beside(folder);
  if (found.path.empty()) {
    if (found.count > 1)
      add_problem({false, fmt::format("{} .ply files may hold the points", found.count),
                   "None is used; name the right one points.ply."});
    return {};
  }
  const std::string name = found.path.filename().string();
  try {
    std::size_t bad_count = 0;
    const Points points = load_points(found.path, bad_count);
    for (std::size_t i = 0; i < points.size(); ++i) {
      const Vec3f p = points.position[i];
      add_point(name, {p.x, p.y, p.z}, points.color[i]);
    }
    if (bad_count > 0)
      add_problem(
          {false,
           fmt::format("{} in {} with coordinates that are not finite", count_of(bad_count, "point"), name),
           "They are left out."});
    return fmt::format(", points from {}", name);
  } catch (const ReadError&) {
    throw;
  } catch (const Error& error) {
    add_problem({false, error.what(), "Random points are used instead, so training takes longer."});
    return {};
  }
}

// The middle of the cameras if it is far away from the origin, else the origin.
Vec3<double> SourceBuilder::far_origin() const {
  Vec3<double> middle(0, 0, 0);
  for (const Image& image : images_)
    middle = middle + image.frame->center * (1 / static_cast<double>(images_.size()));
  double size = 0;
  for (const Image& image : images_) size = std::max(size, length(image.frame->center - middle));
  return size > 0 && length(middle) > kFar * size ? middle : Vec3<double>(0, 0, 0);
}

SceneSource SourceBuilder::build(std::string format, fs::path base, std::vector<fs::path> folders) {
  SceneSource source;
  source.format = std::move(format);
  source.base = std::move(base);
  source.image_folders = std::move(folders);
  source.problems = std::move(problems_);
  const Vec3<double> origin = far_origin();
  if (length(origin) > 0)
    source.problems.push_back({false,
                               fmt::format("the scene is far from the origin, at ({:.3f}, {:.3f}, {:.3f})",
                                           origin.x, origin.y, origin.z),
                               "This place becomes the origin, because positions are 32-bit numbers."});
  for (Image& image : images_) {
    image.frame->center = image.frame->center - origin;
    source.images.push_back({std::move(image.name),
                             "",
                             std::move(image.camera),
                             std::move(image.lens.lens),
                             camera_from_world(*image.frame),
                             {}});
  }
  for (std::size_t i = 0; i < positions_.size(); ++i) {
    const Vec3<double> p = positions_[i] - origin;
    source.points.position.push_back(
        {static_cast<float>(p.x), static_cast<float>(p.y), static_cast<float>(p.z)});
  }
  source.points.color = std::move(colors_);
  report(broken_, "record", "that cannot be read", "They are left out; export the file again.",
         source.problems);
  report(unposed_, "image", "without a pose", "They are left out; their program did not align them.",
         source.problems);
  report(disabled_, "image", "that is switched off in its program", "They are left out.", source.problems);
  report(bad_poses_, "image", "with an invalid pose", "They are left out; export the file again.",
         source.problems);
  report_duplicates(twice_, source.problems);
  for (const auto& [why, images] : unusable_) report_unusable_camera(images.count, why, source.problems);
  report(simplified_, "image", "whose lens has small terms that are left out",
         "This moves no pixel by more than 1/2000 of the photo's longer side.", source.problems);
  report(broken_points_, "point", "that cannot be read", "They are left out.", source.problems);
  return source;
}

}  // namespace stipple
