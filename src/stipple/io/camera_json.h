// SPDX-License-Identifier: Apache-2.0
#pragma once
// A camera in a JSON file, with the fields that io/camera_file.h describes. Include this in .cpp files only,
// as io/json.h.
#include "stipple/camera/camera.h"
#include "stipple/io/json_fields.h"

namespace stipple {

Camera camera_from(const JsonFields& fields);

}  // namespace stipple
