// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/json_vectors.h"

namespace stipple {

using nlohmann::json;

std::optional<Vec3<double>> vector_from(const json& value) {
  if (!value.is_array() || value.size() != 3) return {};
  Vec3<double> v(0, 0, 0);
  for (int i = 0; i < 3; ++i) {
    const json& entry = value[static_cast<std::size_t>(i)];
    if (!entry.is_number()) return {};
    v[i] = entry.get<double>();
  }
  return v;
}

std::optional<Vec3<double>> vector_in(const json& object, const char* field) {
  const json* list = array_in(object, field);
  return list ? vector_from(*list) : std::nullopt;
}

std::optional<Rows3x3> matrix_in(const json& object, const char* field) {
  const json* list = array_in(object, field);
  if (!list || list->size() != 3) return {};
  Rows3x3 rows;
  for (std::size_t r = 0; r < 3; ++r) {
    const std::optional<Vec3<double>> row = vector_from((*list)[r]);
    if (!row) return {};
    rows[r] = {row->x, row->y, row->z};
  }
  return rows;
}

}  // namespace stipple
