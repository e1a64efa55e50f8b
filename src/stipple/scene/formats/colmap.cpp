// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/colmap.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/core/error.h"
#include "stipple/math/math.h"
#include "stipple/scene/formats/colmap_builder.h"
#include "stipple/scene/formats/colmap_lens.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

constexpr double kMaxSidePx = 65536;

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool has_part(const fs::path& folder, const char* part) {
  return is_file(folder / fmt::format("{}.bin", part)) || is_file(folder / fmt::format("{}.txt", part));
}

// A folder with one of the two files is meant as a model; load_colmap() reports the other as missing.
bool holds_model(const fs::path& folder) { return has_part(folder, "cameras") || has_part(folder, "images"); }

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

// Adds sparse/0, sparse/1 and any other model in `folder`, in name order.
void add_models_in(const fs::path& folder, std::vector<fs::path>& to) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (holds_model(it->path())) found.push_back(it->path());
  std::sort(found.begin(), found.end());
  to.insert(to.end(), found.begin(), found.end());
}

}  // namespace

void ColmapBuilder::add_camera(std::uint32_t id, const ColmapLensModel& lens_model, double width,
                               double height, std::span<const double> parameters) {
  const auto refuse = [&](const std::string& why) {
    model_.unusable_cameras.emplace(id, fmt::format("camera {}: {}", id, why));
  };
  if (!(1 <= width && width <= kMaxSidePx && 1 <= height && height <= kMaxSidePx))
    return refuse(fmt::format("its size is {} x {}; both sides must be from 1 to {} pixels", width, height,
                              kMaxSidePx));
  try {
    model_.lens_from_camera_id.emplace(
        id, make_colmap_lens(lens_model, static_cast<int>(width), static_cast<int>(height), parameters));
  } catch (const Error& error) {
    refuse(error.what());
  }
}

void ColmapBuilder::add_image(const std::string& name, std::uint32_t camera_id,
                              const std::array<double, 7>& pose) {
  const Vec4<double> q(pose[0], pose[1], pose[2], pose[3]);
  const Vec3f t(static_cast<float>(pose[4]), static_cast<float>(pose[5]), static_cast<float>(pose[6]));
  const bool is_pose = std::isfinite(dot(q, q)) && !Math<double>::is_degenerate_quaternion(q) &&
                       std::isfinite(t.x) && std::isfinite(t.y) && std::isfinite(t.z);
  if (!is_pose) return model_.bad_poses.add(name);
  if (!names_.insert(name).second) return model_.twice.add(name);
  ColmapImage image{name, camera_id, {}};
  const Mat3<double> rotation = Math<double>::rotation_from_quaternion(q);
  for (int column = 0; column < 3; ++column)
    for (int row = 0; row < 3; ++row)
      image.camera_from_world.rotation[column][row] = static_cast<float>(rotation[column][row]);
  image.camera_from_world.translation = t;
  model_.images.push_back(std::move(image));
}

void ColmapBuilder::add_point(const std::string& name, const std::array<double, 3>& position,
                              const std::array<double, 3>& color) {
  const Vec3f p(static_cast<float>(position[0]), static_cast<float>(position[1]),
                static_cast<float>(position[2]));
  if (!std::isfinite(p.x) || !std::isfinite(p.y) || !std::isfinite(p.z) || !all_finite(color))
    return model_.bad_points.add(name);
  const auto byte = [](double v) { return static_cast<std::uint8_t>(std::clamp(v, 0.0, 255.0)); };
  model_.points.position.push_back(p);
  model_.points.color.push_back({byte(color[0]), byte(color[1]), byte(color[2])});
}

std::vector<fs::path> find_colmap_models(const fs::path& root) {
  std::vector<fs::path> found;
  for (const fs::path& folder : {root, root / "colmap"}) {
    add_models_in(folder / "sparse", found);
    if (holds_model(folder / "sparse")) found.push_back(folder / "sparse");
    if (holds_model(folder)) found.push_back(folder);
  }
  if (found.empty() && root.filename() == "sparse") add_models_in(root, found);
  return found;
}

bool is_whole_colmap_model(const fs::path& folder) {
  return has_part(folder, "cameras") && has_part(folder, "images");
}

ColmapFormat colmap_format(const fs::path& folder) {
  return is_file(folder / "cameras.bin") && is_file(folder / "images.bin") ? ColmapFormat::kBinary
                                                                           : ColmapFormat::kText;
}

std::size_t colmap_image_count(const fs::path& folder) {
  return colmap_format(folder) == ColmapFormat::kBinary ? count_colmap_binary_images(folder)
                                                        : count_colmap_text_images(folder);
}

ColmapModel load_colmap(const fs::path& folder) {
  for (const char* part : {"cameras", "images"})
    if (!has_part(folder, part))
      throw Error(fmt::format("{}: there is no {}.bin or {}.txt; export the whole model again",
                              folder.string(), part, part));
  ColmapModel model;
  if (colmap_format(folder) == ColmapFormat::kBinary)
    read_colmap_binary(folder, model);
  else
    read_colmap_text(folder, model);
  return model;
}

}  // namespace stipple
