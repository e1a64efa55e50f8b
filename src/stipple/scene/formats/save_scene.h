// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes scenes into an existing folder, whose photos are in images/.
#include <filesystem>
#include <span>
#include <string>

#include "stipple/scene/formats/colmap.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct PosedImage {
  std::string name;  // of the file in images/
  Lens lens;
  RigidTransform camera_from_world;
};

// Writes cameras, images and points3D into this folder, usually sparse/0. Equal lenses share a camera.
void save_colmap(std::span<const PosedImage> images, const Points& points, ColmapFormat format,
                 const std::filesystem::path& folder);

// Writes transforms.json in nerfstudio's dialect, and points.ply unless there are no points.
void save_transforms(std::span<const PosedImage> images, const Points& points,
                     const std::filesystem::path& folder);

}  // namespace stipple
