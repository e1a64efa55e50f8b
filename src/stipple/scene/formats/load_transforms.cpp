// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json_file.h"
#include "stipple/scene/formats/camera_frame.h"
#include "stipple/scene/formats/transforms.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

bool flag(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::optional<double> radians(std::optional<double> degrees) {
  if (degrees) return *degrees * (3.14159265358979323846 / 180);
  return {};
}

void refuse(const std::string& model, PartialLens& lens) {
  lens.unsupported =
      fmt::format("camera model {} is not supported; undistort the images first", printable(model));
}

// Reads the camera model, which other programs may call by other names than COLMAP.
void read_model(const json& object, PartialLens& lens) {
  const std::string model = text_in(object, "camera_model");
  if (!model.empty()) {
    lens.unsupported.clear();
    lens.distortion.model = printable(model);  // short: every frame has a copy of it
    const bool is_fisheye = model == "OPENCV_FISHEYE" || model == "FISHEYE";
    static const std::set<std::string> perspective = {
        "SIMPLE_PINHOLE", "PINHOLE", "PERSPECTIVE", "SIMPLE_RADIAL", "RADIAL", "OPENCV", "FULL_OPENCV"};
    lens.distortion.kind = is_fisheye ? Lens::Kind::kFisheye : Lens::Kind::kPerspective;
    if (!is_fisheye && !perspective.contains(model)) refuse(model, lens);
  }
  if (flag(object, "is_fisheye")) lens.distortion.kind = Lens::Kind::kFisheye;
  for (const char* other : {"ftheta", "latlong", "equirectangular", "orthographic"})
    if (flag(object, other)) refuse(other, lens);
  if (object.contains("ftheta_p0")) refuse("ftheta", lens);
}

void read_distortion(const json& object, Lens& lens) {
  double* to[] = {&lens.radial[0],     &lens.radial[1],     &lens.radial[2], &lens.radial[3],
                  &lens.tangential[0], &lens.tangential[1], &lens.radial[4], &lens.radial[5]};
  const char* fields[] = {"k1", "k2", "k3", "k4", "p1", "p2", "k5", "k6"};
  for (int i = 0; i < 8; ++i)
    if (const auto value = number_in(object, fields[i])) *to[i] = *value;
  const auto list = object.find("distortion_params");
  if (list == object.end() || !list->is_array()) return;
  for (std::size_t i = 0; i < std::min<std::size_t>(6, list->size()); ++i)
    if ((*list)[i].is_number()) *to[i] = (*list)[i].get<double>();
}

// Overwrites fields of `lens` with those of `object`: a frame's fields take precedence over the file's.
void read_lens(const json& object, PartialLens& lens) {
  const auto read = [&](const char* field, std::optional<double>& to) {
    if (const auto value = number_in(object, field)) to = value;
  };
  read("w", lens.width_px);
  read("h", lens.height_px);
  read("fl_x", lens.focal_x_px);
  read("fl_y", lens.focal_y_px);
  read("cx", lens.center_x_px);
  read("cy", lens.center_y_px);
  read("camera_angle_x", lens.field_of_view_x_rad);
  read("camera_angle_y", lens.field_of_view_y_rad);
  if (const auto fov = radians(number_in(object, "x_fov"))) {  // takes precedence over a focal length
    lens.field_of_view_x_rad = fov;
    lens.focal_x_px.reset();
  }
  if (const auto fov = radians(number_in(object, "y_fov"))) {
    lens.field_of_view_y_rad = fov;
    lens.focal_y_px.reset();
  }
  read_model(object, lens);
  read_distortion(object, lens.distortion);
}

std::optional<Rows3x4> read_matrix(const json& frame) {
  const json* matrix = array_in(frame, "transform_matrix");
  if (!matrix || (matrix->size() != 3 && matrix->size() != 4)) return {};
  Rows3x4 rows;
  for (std::size_t r = 0; r < 3; ++r) {
    const json& row = (*matrix)[r];
    if (!row.is_array() || row.size() != 4) return {};
    for (std::size_t c = 0; c < 4; ++c) {
      // null and strings stand for NaN.
      rows[r][c] = row[c].is_number() ? row[c].get<double>() : std::nan("");
    }
  }
  return rows;
}

std::set<std::string> names_in(const json& file, const char* field) {
  std::set<std::string> names;
  const auto found = file.find(field);
  if (found == file.end() || !found->is_array()) return names;
  for (const json& name : *found)
    if (name.is_string()) names.insert(name.get<std::string>());
  return names;
}

void read_frames(const fs::path& path, std::optional<bool> is_test, Transforms& out) {
  const json file = load_json(path, "a transforms.json");
  if (!file.is_object()) throw Error(fmt::format("{}: the file must hold a JSON object", path.string()));
  const auto frames = file.find("frames");
  if (frames == file.end() || !frames->is_array())
    throw Error(fmt::format("{}: there is no \"frames\" list; this is not a transforms.json", path.string()));
  PartialLens common;
  read_lens(file, common);
  if (out.points_path.empty()) out.points_path = text_in(file, "ply_file_path");
  std::set<std::string> test_names = names_in(file, "test_filenames");
  if (test_names.empty()) test_names = names_in(file, "val_filenames");
  for (std::size_t i = 0; i < frames->size(); ++i) {
    const json& frame = (*frames)[i];
    TransformsFrame f{frame.is_object() ? text_in(frame, "file_path") : "", {}, common, {}, is_test};
    const std::optional<Rows3x4> matrix = f.image_path.empty() ? std::nullopt : read_matrix(frame);
    if (!matrix) {
      out.bad_frames.add(fmt::format("frame {} of {}", i + 1, path.filename().string()));
      continue;
    }
    const std::optional<CameraFrame> camera = frame_from_matrix(*matrix, CameraAxes::kOpenGl);
    if (!camera) {
      out.bad_poses.add(f.image_path);
      continue;
    }
    f.camera_from_world = camera_from_world(*camera);
    f.mask_path = text_in(frame, "mask_path");
    read_lens(frame, f.lens);
    if (!test_names.empty()) f.is_test = test_names.contains(f.image_path);
    out.frames.push_back(std::move(f));
  }
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

}  // namespace

std::optional<fs::path> find_transforms(const fs::path& folder) {
  for (const char* name : {"transforms.json", "transforms_train.json"})
    if (is_file(folder / name)) return folder / name;
  return {};
}

Transforms load_transforms(const fs::path& path) {
  Transforms out;
  out.format = path.filename().string();
  if (path.filename() != "transforms_train.json") {
    read_frames(path, {}, out);
    return out;
  }
  for (const char* other : {"transforms_test.json", "transforms_val.json"}) {  // the first that exists
    if (!is_file(path.parent_path() / other)) continue;
    read_frames(path, false, out);
    read_frames(path.parent_path() / other, true, out);
    out.format += fmt::format(" and {}", other);
    return out;
  }
  read_frames(path, {}, out);  // the file alone does not name test views
  return out;
}

}  // namespace stipple
