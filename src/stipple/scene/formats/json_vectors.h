// SPDX-License-Identifier: Apache-2.0
#pragma once
// Vectors and matrices in JSON. Include this in .cpp files only, as io/json.h.
#include <optional>

#include "stipple/io/json_file.h"
#include "stipple/scene/formats/camera_frame.h"

namespace stipple {

// Lists of three numbers, or of three such lists; none if the value is anything else.
std::optional<Vec3<double>> vector_from(const nlohmann::json& value);
std::optional<Vec3<double>> vector_in(const nlohmann::json& object, const char* field);
std::optional<Rows3x3> matrix_in(const nlohmann::json& object, const char* field);

}  // namespace stipple
