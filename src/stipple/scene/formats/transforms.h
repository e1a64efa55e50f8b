// SPDX-License-Identifier: Apache-2.0
#pragma once
// transforms.json in its dialects: NeRF synthetic (transforms_train.json and its siblings, one field of
// view), instant-ngp and nerfstudio (intrinsics for the file or per frame, points, masks). A frame's
// transform_matrix is world_from_camera with OpenGL's axes: x right, y up, looking along -z.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "stipple/camera/camera.h"
#include "stipple/camera/partial_lens.h"
#include "stipple/scene/dropped.h"

namespace stipple {

struct TransformsFrame {
  std::string image_path, mask_path;  // as written, relative to the file's folder
  PartialLens lens;
  RigidTransform camera_from_world;
  std::optional<bool> is_test;  // absent if the data does not say
};

struct Transforms {
  std::string format;  // "transforms.json", or "transforms_train.json and transforms_test.json"
  std::vector<TransformsFrame> frames;
  std::string points_path;  // relative; empty means none
  Dropped bad_frames;       // without a name or a matrix; `first` is "frame 2 of transforms.json"
  Dropped bad_poses;        // whose matrix is not a rigid transform
};

// The folder's transforms.json or else transforms_train.json; none if it has neither.
std::optional<std::filesystem::path> find_transforms(const std::filesystem::path& folder);

Transforms load_transforms(const std::filesystem::path& file);

}  // namespace stipple
