// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "stipple/scene/scene.h"

namespace stipple {

// A cloud of points as a .ply: x, y, z and, if there, red, green, blue (else they are grey). Points that are
// not finite are left out; `dropped` counts them.
Points load_points(const std::filesystem::path& path, std::size_t& dropped);

void save_points(const Points& points, const std::filesystem::path& path);

}  // namespace stipple
