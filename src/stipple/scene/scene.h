// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// The input of training: photos, the cameras that took them, and points of the surfaces they show.
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "stipple/camera/camera.h"
#include "stipple/camera/lens.h"
#include "stipple/core/error.h"

namespace stipple {

struct Points {                 // from structure from motion or a scanner
  std::vector<Vec3f> position;  // world frame
  std::vector<std::array<std::uint8_t, 3>> color;

  std::size_t size() const { return position.size(); }
};

// How a photo's alpha channel is used.
enum class AlphaUse {
  kAuto,    // kObject if the photos are cut-outs, otherwise kWeight
  kObject,  // the photo is a cut-out: what is transparent in it is empty space, whatever the background
  kWeight,  // alpha is the weight of the pixel, as in a mask
  kWhite,   // the photo is composited over white, and every pixel counts
  kBlack,   // the same over black
};

struct SceneOptions {
  int max_resolution_px = 1600;       // of the longer side; larger photos are shrunk; 0 means no limit
  int downscale = 1;                  // photos are first shrunk by this factor
  std::filesystem::path images = {};  // folder of the photos, relative to the scene; empty means find it
  AlphaUse alpha = AlphaUse::kAuto;
  std::size_t random_point_count = 100'000;  // used when the data has no points
  std::uint64_t seed = 1;                    // of the random points
};

struct SceneView {                     // a photo with its camera
  std::string name;                    // as in the data: "left/0001.jpg"
  std::filesystem::path image_path;    // the file that load_photo() reads
  std::filesystem::path mask_path;     // empty means no mask
  bool has_alpha = false;              // the file has an alpha channel
  AlphaUse alpha = AlphaUse::kWeight;  // never kAuto
  Lens lens;                           // of the photo in the file
  Camera camera;  // of the photo that is trained on: undistorted, at the working resolution
  bool is_test = false;
};

// Something that is not as it should be, and what to do about it.
struct SceneProblem {
  bool is_fatal = false;  // training would fail
  std::string what;       // one sentence that names the thing
  std::string advice;     // one sentence that says what to do about it
  // Options of a run that help (options/run_options.h); the advice does not mention them, since the command
  // and Python spell them differently.
  std::vector<std::string> options = {};
};

struct Scene {
  std::filesystem::path path;
  std::string format;            // description for users: "COLMAP model (binary) in sparse/0"
  std::vector<SceneView> views;  // in name order
  Points points;
  bool has_random_points = false;  // because the data had none
  bool has_carved_points = false;  // likewise, but cut out of space by the alpha of the photos
  // How alpha is used, as requested or as recognised, and why, as a phrase for users: "as requested". If no
  // photo has an alpha channel, there is no reason, and kAuto stays.
  AlphaUse alpha = AlphaUse::kAuto;
  std::string alpha_reason;
  std::vector<SceneProblem> problems;  // what was left out or assumed

  // Whether the points are of surfaces that the photos show.
  bool has_measured_points() const { return !has_random_points && !has_carved_points; }
  std::vector<std::size_t> train_views() const;  // indices into `views`
  std::vector<std::size_t> test_views() const;
};

// Thrown by load_scene() for a folder that holds no scene in any known format.
class NotAScene : public Error {
 public:
  using Error::Error;
};

// Reads a scene: a folder, or the file with its cameras (docs/formats.md lists the formats). Of photos only
// the sizes are read, unless they have an alpha channel whose use must be recognised, or from which points
// are carved. Broken images and points are left out and reported in `problems`. Throws Error if no usable
// image remains. Unless the data names its test views, every 8th view in name order is one, starting with the
// first.
Scene load_scene(const std::filesystem::path& path, const SceneOptions& options = {});

}  // namespace stipple
