// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "stipple/scene/scene.h"

namespace stipple {

// Reads a point cloud from a .ply: x, y, z and optionally red, green, blue (grey if absent). Points that are
// not finite are left out; their number is added to `dropped`.
Points load_points(const std::filesystem::path& path, std::size_t& dropped);

// No points make no file, and remove an earlier one.
void save_points(const Points& points, const std::filesystem::path& path);

}  // namespace stipple
