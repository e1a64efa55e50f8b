// SPDX-License-Identifier: Apache-2.0
#pragma once
// A set of photographs with the cameras that took them: what training starts from.
#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "stipple/camera/camera.h"
#include "stipple/camera/lens.h"
#include "stipple/core/error.h"

namespace stipple {

struct Points {                 // of a surface, from structure from motion or a scanner
  std::vector<Vec3f> position;  // world frame
  std::vector<std::array<std::uint8_t, 3>> color;

  std::size_t size() const { return position.size(); }
};

// What is done with an image's alpha channel.
enum class AlphaUse {
  kWeight,  // it says how much a pixel counts, as a mask does
  kWhite,   // the image is put on white ...
  kBlack,   // ... or on black, and every pixel counts
};

struct SceneOptions {
  int max_resolution_px = 1600;       // of the longer side; larger photos are shrunk. 0: never
  int downscale = 1;                  // photos are shrunk by this factor first
  std::filesystem::path images = {};  // folder of the photos, relative to the scene; empty: found
  AlphaUse alpha = AlphaUse::kWeight;
  std::size_t random_point_count = 100'000;  // when the data has no points
  std::uint64_t seed = 1;                    // of those
};

struct SceneView {                   // one photograph
  std::string name;                  // as the data has it: "left/0001.jpg"
  std::filesystem::path image_path;  // what load_photo reads
  std::filesystem::path mask_path;   // empty: no mask
  AlphaUse alpha = AlphaUse::kWeight;
  Lens lens;      // of the picture in the file
  Camera camera;  // of the photo as it is trained on: without distortion, at its working size
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
  std::string format;            // for people: "COLMAP model (binary) in sparse/0"
  std::vector<SceneView> views;  // in name order
  Points points;
  bool has_random_points = false;      // the data had none
  std::vector<SceneProblem> problems;  // what was dropped, and what was assumed

  std::vector<std::size_t> train_views() const;  // indices
  std::vector<std::size_t> test_views() const;
};

// Thrown by load_scene() for a folder that holds no scene in any known format.
class NotAScene : public Error {
 public:
  using Error::Error;
};

// Reads a COLMAP or transforms.json scene, whichever is in the folder. Photos are not decoded yet, only their
// sizes are looked at. A broken image or point is left out, and counted in `problems`; an Error says why
// nothing usable is left. Every 8th view in name order, from the first on, is a test view, unless the data
// names its own.
Scene load_scene(const std::filesystem::path& path, const SceneOptions& options = {});

}  // namespace stipple
