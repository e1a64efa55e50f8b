// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// Camera paths with key frames, as the path editor of the viewer saves them. docs/formats.md describes the
// file and the interpolation.
#include <filesystem>
#include <vector>

#include "stipple/camera/camera.h"
#include "stipple/path/camera_path.h"

namespace stipple {

struct KeyFrame {
  double time_s = 0;
  Camera camera;
};

struct KeyPath {
  std::vector<KeyFrame>
      keyframes;           // at least one; times at least kLeastKeyDistanceS apart, in ascending order
  bool is_closed = false;  // returns to the first key frame, and
  double duration_s = 0;   // takes this long until it is there; of an open path, until the last one
  double frames_per_second = 30;
};

constexpr double kLeastKeyDistanceS = 0.001;

// Errors name the field: flight.json: "keyframes[2].time" must be ...
KeyPath load_key_path(const std::filesystem::path& path);

// The number of frames of a video: both ends of an open path are among them, and the end of a closed one is
// not, since it is the first frame again.
int frame_count_of(const KeyPath& path, double frames_per_second);

// `frame_count` frames at equal steps of time. They have the size of the first key frame, made even.
std::vector<PathFrame> frames_along(const KeyPath& path, int frame_count);

}  // namespace stipple
