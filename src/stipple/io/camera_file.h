// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// One camera as a JSON file:
//
//   {
//     "width": 1920, "height": 1080,          pixels
//     "fx": 1400.5, "fy": 1400.5,             focal lengths, pixels
//     "cx": 960, "cy": 540,                   principal point, pixels; default: the image centre
//     "camera_from_world": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 2]]
//   }
//
// camera_from_world is [R | t] as a list of rows: 3x4, or 4x4 with 0 0 0 1 as its last row. A flat list of 12
// or 16 numbers in row-major order is also accepted. The conventions are those of camera/camera.h.
#include <filesystem>

#include "stipple/camera/camera.h"

namespace stipple {

// Errors name the field: camera.json: "fx" must be a positive number
Camera load_camera(const std::filesystem::path& path);

// load_camera() reads back exactly the same numbers.
void save_camera(const Camera& camera, const std::filesystem::path& path);

}  // namespace stipple
