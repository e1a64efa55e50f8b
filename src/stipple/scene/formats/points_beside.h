// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <filesystem>

namespace stipple {

struct PointsBeside {
  std::filesystem::path path;  // empty: there is none, or it is unclear which is meant
  std::size_t count = 0;       // of the .ply files that hold points
};

// The .ply file in a folder that holds a scene's points, for programs that export points as a file of their
// own: points.ply, or else the only one. Models of Gaussians do not count.
PointsBeside find_points_beside(const std::filesystem::path& folder);

}  // namespace stipple
