// SPDX-License-Identifier: Apache-2.0
#pragma once
// A scene that needs no files: a small still life, photographed all around by a ray tracer.
#include <cstdint>
#include <string>
#include <vector>

#include "stipple/camera/camera.h"
#include "stipple/photo/photo.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct SynthOptions {
  int view_count = 60;
  int width_px = 640, height_px = 480;
  std::uint64_t seed = 1;  // moves cameras, textures and points
};

struct SynthView {
  std::string name;  // "0001.png": names in order are neighbours on a ring
  Camera camera;
};

// On three rings around the still life, looking at its middle, a little out of place as by hand. World frame:
// z up, the ground at z = 0.
std::vector<SynthView> synth_cameras(const SynthOptions& options);

struct SynthPicture {
  Photo photo;
  std::vector<float> depth;  // per pixel, at its centre: z in the camera's frame, scene units; 0 for the sky
};

// The same bits for any number of threads. The seed is that of the options: it moves the textures.
SynthPicture synth_render(const Camera& camera, std::uint64_t seed);

// Points of the surfaces and of the sky as structure from motion would find them: seen by one of the cameras,
// a little out of place, in the colours of the photos without their gloss.
Points synth_points(const SynthOptions& options);

}  // namespace stipple
