// SPDX-License-Identifier: Apache-2.0
#pragma once
// One camera as a JSON file:
//
//   {
//     "width": 1920, "height": 1080,          pixels
//     "fx": 1400.5, "fy": 1400.5,             focal lengths, pixels
//     "cx": 960, "cy": 540,                   principal point, pixels; without it the image's centre
//     "camera_from_world": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 2]]
//   }
//
// camera_from_world is [R | t], row by row: 3x4, or 4x4 whose last row is 0 0 0 1; the rows may also follow
// each other in one list of 12 or 16. Conventions are those of camera/camera.h.
#include <filesystem>

#include "stipple/camera/camera.h"

namespace stipple {

// An Error names the field: camera.json: "fx" must be a positive number.
Camera load_camera(const std::filesystem::path& path);

// Every number comes back exactly when it is read again.
void save_camera(const Camera& camera, const std::filesystem::path& path);

}  // namespace stipple
