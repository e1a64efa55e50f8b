// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// A synthetic scene that needs no files: a small still life, photographed from all around by a ray tracer.
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
  std::uint64_t seed = 1;  // changes cameras, textures and points
};

struct SynthView {
  std::string name;  // "0001.png" and so on, in order around each ring
  Camera camera;
};

// Cameras on three rings around the still life, looking at its middle, slightly displaced as if held by hand.
// World frame: z up, the ground at z = 0.
std::vector<SynthView> synth_cameras(const SynthOptions& options);

struct SynthPicture {
  Photo photo;
  std::vector<float> depth;  // at each pixel's centre: z in the camera's frame, in scene units; 0 for the sky
};

// The result does not depend on the number of threads. `seed` is that of the options; it shifts the textures.
SynthPicture synth_render(const Camera& camera, std::uint64_t seed);

// Points on the surfaces and the sky as structure from motion would find them: visible to one of the cameras,
// slightly displaced, in the colours of the photos without gloss.
Points synth_points(const SynthOptions& options);

}  // namespace stipple
