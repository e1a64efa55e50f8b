// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/camera_json.h"

#include <array>
#include <cmath>
#include <vector>

namespace stipple {

namespace {

using nlohmann::json;

constexpr int kMaxSidePx = 65536;
constexpr double kRotationTolerance = 1e-3;  // allows for matrices printed with few digits

using Rows = std::array<std::array<double, 4>, 3>;  // [R | t]

// Returns the entries of a matrix, given as a list of rows or as a flat list, in row-major order.
std::vector<double> flatten(const JsonFields& fields, const char* field) {
  const json& value = fields.value(field);
  const bool is_list = value.is_array() && !value.empty();
  const bool nested = is_list && value[0].is_array();
  const std::size_t row_count = is_list ? value.size() / (nested ? 1 : 4) : 0;
  const bool right_size = (row_count == 3 || row_count == 4) && (nested || value.size() % 4 == 0);
  if (!right_size) fields.fail(field, "must be 3x4 or 4x4");

  std::vector<double> numbers;
  const auto add = [&](const json& entry) {
    if (!std::isfinite(to_float(entry))) fields.fail(field, "must hold only finite numbers");
    numbers.push_back(entry.get<double>());
  };
  for (const json& entry : value) {
    if (nested && (!entry.is_array() || entry.size() != 4)) fields.fail(field, "must be 3x4 or 4x4");
    if (!nested) add(entry);
    for (std::size_t column = 0; nested && column < 4; ++column) add(entry[column]);
  }
  return numbers;
}

Rows matrix(const JsonFields& fields, const char* field) {
  const std::vector<double> numbers = flatten(fields, field);
  Rows rows;
  for (std::size_t i = 0; i < 12; ++i) rows[i / 4][i % 4] = numbers[i];
  const std::vector<double> last(numbers.begin() + 12, numbers.end());
  if (!last.empty() && last != std::vector<double>{0, 0, 0, 1})
    fields.fail(field, "must have 0 0 0 1 as its last row");
  return rows;
}

void check_rotation(const JsonFields& fields, const char* field, const Rows& m) {
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      const double dot = m[i][0] * m[j][0] + m[i][1] * m[j][1] + m[i][2] * m[j][2];
      if (!(std::abs(dot - (i == j)) <= kRotationTolerance))
        fields.fail(field, "must hold a rotation: its rows are not orthonormal");
    }
  }
  const double determinant = m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) -
                             m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0]) +
                             m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0]);
  if (determinant < 0) fields.fail(field, "must hold a rotation, not a reflection");
}

RigidTransform rigid_transform(const JsonFields& fields, const char* field) {
  const Rows rows = matrix(fields, field);
  check_rotation(fields, field, rows);
  RigidTransform transform;
  for (int row = 0; row < 3; ++row) {
    for (int column = 0; column < 3; ++column)
      transform.rotation[column][row] = static_cast<float>(rows[row][column]);
    transform.translation[row] = static_cast<float>(rows[row][3]);
  }
  return transform;
}

}  // namespace

Camera camera_from(const JsonFields& fields) {
  Camera camera;
  camera.width_px = fields.whole_number("width", 1, kMaxSidePx);
  camera.height_px = fields.whole_number("height", 1, kMaxSidePx);
  camera.focal_px = {fields.positive_number("fx"), fields.positive_number("fy")};
  camera.center_px = {static_cast<float>(camera.width_px) / 2, static_cast<float>(camera.height_px) / 2};
  if (fields.has("cx")) camera.center_px.x = fields.number("cx");
  if (fields.has("cy")) camera.center_px.y = fields.number("cy");
  camera.camera_from_world = rigid_transform(fields, "camera_from_world");
  return camera;
}

}  // namespace stipple
