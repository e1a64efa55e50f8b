// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// Writes a scene as COLMAP, nerfstudio or another program does, whatever program it comes from.
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "stipple/scene/scene.h"

namespace stipple {

enum class PhotoTransfer {
  kCopy,
  kLink,  // symbolic links to where the photos are now
  kNone,  // the photos are left where they are, and the new scene cannot be used before they are copied
};

struct SaveSceneOptions {
  std::string format = "colmap";  // or colmap-text, transforms, opensfm, openmvg, polycam, metashape,
                                  // realitycapture
  PhotoTransfer photos = PhotoTransfer::kCopy;     // and masks
  bool overwrite = false;                          // write into a folder that is not empty
  std::function<void(std::size_t)> on_photo = {};  // called with the number of photos done; may throw to stop
};

// Writes the views that load_scene() could use, with the poses and lenses that they have, distortion
// included; the points, unless they are not those of the scene (has_measured_points()); photos and
// masks in the folders where the format has them, usually images/ and masks/. The photos are those of the
// scene's files, at their full size. Cameras are written last, so that what an interruption leaves is no
// scene: those of an earlier scene are removed first. Returns what the format cannot hold. Throws Error if
// the folder is the scene's own, or is in it or around it, if the format cannot name a photo, or if it lacks
// a lens.
std::vector<SceneProblem> save_scene(const Scene& scene, const std::filesystem::path& folder,
                                     const SaveSceneOptions& options = {});

}  // namespace stipple
