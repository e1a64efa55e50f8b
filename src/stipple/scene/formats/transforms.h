// SPDX-License-Identifier: Apache-2.0
#pragma once
// transforms.json in its dialects: NeRF synthetic (transforms_train.json and its kin, one angle of view),
// instant-ngp and nerfstudio (intrinsics for all frames or each, points, masks). A frame's transform_matrix
// is world_from_camera with the axes of OpenGL: x right, y up, looking along -z.
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
  std::optional<bool> is_test;  // when the data says so
};

struct Transforms {
  std::string format;  // "transforms.json", or "transforms_train.json and transforms_test.json"
  std::vector<TransformsFrame> frames;
  std::string points_path;  // relative; empty: none
  Dropped bad_frames;       // without a name or a matrix; `first` says which
  Dropped bad_poses;        // whose matrix is no rigid transform
};

// The file that makes a folder one of these: transforms.json, or transforms_train.json. None: it is not.
std::optional<std::filesystem::path> find_transforms(const std::filesystem::path& folder);

Transforms load_transforms(const std::filesystem::path& file);

}  // namespace stipple
