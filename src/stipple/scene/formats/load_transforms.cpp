// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json.h"
#include "stipple/scene/formats/transforms.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 30;
constexpr double kRotationTolerance = 1e-2;  // exporters print few digits

// Length of a value such as "NaN", "-Infinity" or "-nan(ind)" at the start of `text`; 0 if there is none.
std::size_t length_of_nan(std::string_view text) {
  constexpr std::size_t kLongest = 9;
  std::size_t length = text.starts_with('-') ? 1 : 0;
  std::string word;
  while (length < text.size() && word.size() < kLongest &&
         std::isalpha(static_cast<unsigned char>(text[length])))
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(text[length++])));
  if (word != "nan" && word != "inf" && word != "infinity") return 0;
  const std::string_view suffix = "(ind)";
  return text.substr(length).starts_with(suffix) ? length + suffix.size() : length;
}

// JSON has neither NaN and Infinity, which Python writes, nor nan and inf from printf; null replaces them.
std::string with_null_for_nan(std::string_view text) {
  std::string result;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size();) {
    if (const std::size_t length = in_string ? 0 : length_of_nan(text.substr(i)); length > 0) {
      result += "null";
      i += length;
      continue;
    }
    if (text[i] == '"') in_string = !in_string;
    const std::size_t count = in_string && text[i] == '\\' ? 2 : 1;  // skips over an escaped quote
    result += text.substr(i, count);
    i += count;
  }
  return result;
}

json load_json(const fs::path& path) {
  InputFile file(path);
  if (file.remaining_bytes() > kMaxFileBytes)
    throw Error(fmt::format("{}: the file is larger than 1 GiB; this is not a transforms.json", file.name()));
  const std::string_view text = as_text(file.take_rest());
  if (const std::string_view excess = json_excess(text); !excess.empty())
    throw Error(fmt::format("{}: the file {}", file.name(), excess));
  json parsed = parse_json(text, JsonComments::kIgnored);
  if (parsed.is_discarded()) parsed = parse_json(with_null_for_nan(text), JsonComments::kIgnored);
  if (parsed.is_discarded())
    throw Error(
        fmt::format("{}: the file is not valid JSON; it may be truncated, so export it again", file.name()));
  if (!parsed.is_object()) throw Error(fmt::format("{}: the file must hold a JSON object", file.name()));
  return parsed;
}

std::optional<double> number(const json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number()) return {};
  return found->get<double>();
}

std::string text(const json& object, const char* field) {
  const auto found = object.find(field);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

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
  const std::string model = text(object, "camera_model");
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
  double* to[] = {&lens.radial[0], &lens.radial[1],     &lens.radial[2],
                  &lens.radial[3], &lens.tangential[0], &lens.tangential[1]};
  const char* fields[] = {"k1", "k2", "k3", "k4", "p1", "p2"};
  for (int i = 0; i < 6; ++i)
    if (const auto value = number(object, fields[i])) *to[i] = *value;
  const auto list = object.find("distortion_params");
  if (list == object.end() || !list->is_array()) return;
  for (std::size_t i = 0; i < std::min<std::size_t>(6, list->size()); ++i)
    if ((*list)[i].is_number()) *to[i] = (*list)[i].get<double>();
}

// Overwrites fields of `lens` with those of `object`: a frame's fields take precedence over the file's.
void read_lens(const json& object, PartialLens& lens) {
  const auto read = [&](const char* field, std::optional<double>& to) {
    if (const auto value = number(object, field)) to = value;
  };
  read("w", lens.width_px);
  read("h", lens.height_px);
  read("fl_x", lens.focal_x_px);
  read("fl_y", lens.focal_y_px);
  read("cx", lens.center_x_px);
  read("cy", lens.center_y_px);
  read("camera_angle_x", lens.field_of_view_x_rad);
  read("camera_angle_y", lens.field_of_view_y_rad);
  if (const auto fov = radians(number(object, "x_fov"))) {  // takes precedence over a focal length
    lens.field_of_view_x_rad = fov;
    lens.focal_x_px.reset();
  }
  if (const auto fov = radians(number(object, "y_fov"))) {
    lens.field_of_view_y_rad = fov;
    lens.focal_y_px.reset();
  }
  read_model(object, lens);
  read_distortion(object, lens.distortion);
}

using Rows = std::array<std::array<double, 4>, 3>;

std::optional<Rows> read_matrix(const json& frame) {
  const auto found = frame.find("transform_matrix");
  if (found == frame.end() || !found->is_array() || (found->size() != 3 && found->size() != 4)) return {};
  Rows rows;
  for (std::size_t r = 0; r < 3; ++r) {
    const json& row = (*found)[r];
    if (!row.is_array() || row.size() != 4) return {};
    for (std::size_t c = 0; c < 4; ++c) {
      // null and strings stand for NaN.
      rows[r][c] = row[c].is_number() ? row[c].get<double>() : std::nan("");
    }
  }
  return rows;
}

// Converts a world_from_camera matrix with OpenGL's axes to camera_from_world; none if it is not rigid.
std::optional<RigidTransform> invert(const Rows& m) {
  Vec3<double> axis[3];  // the camera's axes in the world: x right, y down, z forward
  for (int c = 0; c < 3; ++c) axis[c] = Vec3<double>(m[0][c], m[1][c], m[2][c]) * (c == 0 ? 1.0 : -1.0);
  const double scale = std::sqrt(dot(axis[0], axis[0]));
  if (!(scale > 1e-9) || !std::isfinite(scale)) return {};
  for (Vec3<double>& a : axis) a = a * (1 / scale);  // some exporters scale the scene this way
  for (int i = 0; i < 3; ++i)
    for (int k = i; k < 3; ++k)
      if (!(std::abs(dot(axis[i], axis[k]) - (i == k ? 1 : 0)) < kRotationTolerance)) return {};
  if (!(dot(cross(axis[0], axis[1]), axis[2]) > 0)) return {};  // a reflection
  const Vec3<double> center(m[0][3], m[1][3], m[2][3]);
  RigidTransform t;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column)
      t.rotation[column][row] = static_cast<float>(axis[row][column]);
    t.translation[row] = static_cast<float>(-dot(axis[row], center));
    if (!std::isfinite(t.translation[row])) return {};
  }
  return t;
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
  const json file = load_json(path);
  const auto frames = file.find("frames");
  if (frames == file.end() || !frames->is_array())
    throw Error(fmt::format("{}: there is no \"frames\" list; this is not a transforms.json", path.string()));
  PartialLens common;
  read_lens(file, common);
  if (out.points_path.empty()) out.points_path = text(file, "ply_file_path");
  std::set<std::string> test_names = names_in(file, "test_filenames");
  if (test_names.empty()) test_names = names_in(file, "val_filenames");
  for (std::size_t i = 0; i < frames->size(); ++i) {
    const json& frame = (*frames)[i];
    TransformsFrame f{frame.is_object() ? text(frame, "file_path") : "", {}, common, {}, is_test};
    const std::optional<Rows> matrix = f.image_path.empty() ? std::nullopt : read_matrix(frame);
    if (!matrix) {
      out.bad_frames.add(fmt::format("frame {} of {}", i + 1, path.filename().string()));
      continue;
    }
    const std::optional<RigidTransform> pose = invert(*matrix);
    if (!pose) {
      out.bad_poses.add(f.image_path);
      continue;
    }
    f.camera_from_world = *pose;
    f.mask_path = text(frame, "mask_path");
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
