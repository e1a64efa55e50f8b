// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/camera_file.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json.h"
#include "stipple/io/output_file.h"

namespace stipple {

namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 20;  // a camera takes a few hundred bytes
constexpr int kMaxSidePx = 65536;
constexpr double kRotationTolerance = 1e-3;  // allows for matrices printed with few digits

using Rows = std::array<std::array<double, 4>, 3>;  // [R | t]

// Reads and checks the fields of one file; errors name the field.
class Fields {
 public:
  Fields(const json& object, const std::string& file_name) : object_(object), file_name_(file_name) {
    if (!object.is_object()) throw Error(fmt::format("{}: a JSON object is expected", file_name));
  }

  bool has(const char* field) const { return object_.contains(field); }

  float number(const char* field) const {
    const float number = to_float(find(field));
    if (!std::isfinite(number)) fail(field, "must be a finite number");
    return number;
  }

  float positive_number(const char* field) const {
    const float number = to_float(find(field));
    if (!(number > 0) || !std::isfinite(number)) fail(field, "must be a positive number");
    return number;
  }

  int side_px(const char* field) const {
    const json& value = find(field);
    const double number = value.is_number() ? value.get<double>() : 0;
    if (!(1 <= number && number <= kMaxSidePx) || number != std::floor(number)) {
      fail(field, fmt::format("must be a whole number from 1 to {}", kMaxSidePx));
    }
    return static_cast<int>(number);
  }

  RigidTransform rigid_transform(const char* field) const {
    const Rows rows = matrix(field);
    check_rotation(field, rows);
    RigidTransform transform;
    for (int row = 0; row < 3; ++row) {
      for (int column = 0; column < 3; ++column) {
        transform.rotation[column][row] = static_cast<float>(rows[row][column]);
      }
      transform.translation[row] = static_cast<float>(rows[row][3]);
    }
    return transform;
  }

 private:
  const json& find(const char* field) const {
    const auto found = object_.find(field);
    if (found == object_.end()) fail(field, "is missing");
    return *found;
  }

  static float to_float(const json& value) {
    return value.is_number() ? static_cast<float>(value.get<double>()) : NAN;
  }

  // Returns the entries of a matrix, given as a list of rows or as a flat list, in row-major order.
  std::vector<double> flatten(const char* field) const {
    const json& value = find(field);
    const bool is_list = value.is_array() && !value.empty();
    const bool nested = is_list && value[0].is_array();
    const std::size_t row_count = is_list ? value.size() / (nested ? 1 : 4) : 0;
    const bool right_size = (row_count == 3 || row_count == 4) && (nested || value.size() % 4 == 0);
    if (!right_size) fail(field, "must be 3x4 or 4x4");

    std::vector<double> numbers;
    const auto add = [&](const json& entry) {
      if (!std::isfinite(to_float(entry))) fail(field, "must hold only finite numbers");
      numbers.push_back(entry.get<double>());
    };
    for (const json& entry : value) {
      if (nested && (!entry.is_array() || entry.size() != 4)) fail(field, "must be 3x4 or 4x4");
      if (!nested) add(entry);
      for (std::size_t column = 0; nested && column < 4; ++column) add(entry[column]);
    }
    return numbers;
  }

  Rows matrix(const char* field) const {
    const std::vector<double> numbers = flatten(field);
    Rows rows;
    for (std::size_t i = 0; i < 12; ++i) rows[i / 4][i % 4] = numbers[i];
    const std::vector<double> last(numbers.begin() + 12, numbers.end());
    if (!last.empty() && last != std::vector<double>{0, 0, 0, 1}) {
      fail(field, "must have 0 0 0 1 as its last row");
    }
    return rows;
  }

  void check_rotation(const char* field, const Rows& m) const {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        const double dot = m[i][0] * m[j][0] + m[i][1] * m[j][1] + m[i][2] * m[j][2];
        if (!(std::abs(dot - (i == j)) <= kRotationTolerance)) {
          fail(field, "must hold a rotation: its rows are not orthonormal");
        }
      }
    }
    const double determinant = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                               m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                               m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
    if (determinant < 0) fail(field, "must hold a rotation, not a reflection");
  }

  [[noreturn]] void fail(const char* field, std::string_view reason) const {
    throw Error(fmt::format("{}: \"{}\" {}", file_name_, field, reason));
  }

  const json& object_;
  const std::string& file_name_;
};

json load_json(InputFile& file) {
  if (file.remaining_bytes() > kMaxFileBytes) {
    throw Error(fmt::format("{}: a camera file must not be larger than 1 MiB", file.name()));
  }
  const std::string_view text = as_text(file.take_rest());
  if (const std::string_view excess = json_excess(text); !excess.empty())
    throw Error(fmt::format("{}: the file {}", file.name(), excess));
  try {
    return json::parse(text);  // not parse_json(), for the message
  } catch (const json::exception& error) {
    // The message reads "[json.exception.parse_error.101] parse error at line 1, column 2: ..."; users do not
    // need the part in brackets.
    const std::string_view what = error.what();
    const std::size_t begin = what.find("] ");
    throw Error(fmt::format("{}: {}", file.name(), begin == what.npos ? what : what.substr(begin + 2)));
  }
}

bool is_finite(const Camera& camera) {
  const auto finite = [](Vec3f v) { return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z); };
  const RigidTransform& pose = camera.camera_from_world;
  return finite(pose.rotation[0]) && finite(pose.rotation[1]) && finite(pose.rotation[2]) &&
         finite(pose.translation) && std::isfinite(camera.focal_px.x) && std::isfinite(camera.focal_px.y) &&
         std::isfinite(camera.center_px.x) && std::isfinite(camera.center_px.y);
}

}  // namespace

Camera load_camera(const std::filesystem::path& path) {
  InputFile file(path);
  const json object = load_json(file);
  const Fields fields(object, file.name());
  Camera camera;
  camera.width_px = fields.side_px("width");
  camera.height_px = fields.side_px("height");
  camera.focal_px = {fields.positive_number("fx"), fields.positive_number("fy")};
  camera.center_px = {static_cast<float>(camera.width_px) / 2, static_cast<float>(camera.height_px) / 2};
  if (fields.has("cx")) camera.center_px.x = fields.number("cx");
  if (fields.has("cy")) camera.center_px.y = fields.number("cy");
  camera.camera_from_world = fields.rigid_transform("camera_from_world");
  return camera;
}

void save_camera(const Camera& camera, const std::filesystem::path& path) {
  if (!is_finite(camera)) {  // JSON cannot represent NaN and infinity
    throw Error(fmt::format("cannot write {}: the camera has a value that is not finite", path.string()));
  }
  const Mat3f& rotation = camera.camera_from_world.rotation;
  const auto row_text = [&](int row) {
    return fmt::format("    [{}, {}, {}, {}]", rotation[0][row], rotation[1][row], rotation[2][row],
                       camera.camera_from_world.translation[row]);
  };
  OutputFile file(path);
  // fmt writes the shortest decimal that reads back as the same float.
  file.write(fmt::format("{{\n  \"width\": {},\n  \"height\": {},\n", camera.width_px, camera.height_px));
  file.write(fmt::format("  \"fx\": {},\n  \"fy\": {},\n", camera.focal_px.x, camera.focal_px.y));
  file.write(fmt::format("  \"cx\": {},\n  \"cy\": {},\n", camera.center_px.x, camera.center_px.y));
  file.write(fmt::format("  \"camera_from_world\": [\n{},\n{},\n{}\n  ]\n}}\n", row_text(0), row_text(1),
                         row_text(2)));
  file.commit();
}

}  // namespace stipple
