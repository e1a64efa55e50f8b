// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// A synthetic scene that needs no files: a small still life, photographed from all around by a ray tracer.
// For tests of what goes wrong in real captures, photos, cameras and points can be spoilt in known ways. The
// same seed without these options gives the truth.
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
  std::uint64_t seed = 1;    // of everything that is random
  bool transparent = false;  // show the objects alone; the ground and the sky are transparent

  float pose_noise_degrees = 0;  // standard deviation of the rotations; positions move in proportion
  float focal_noise = 0;         // standard deviation, as a fraction of the focal length
  float blur_px = 0;             // the largest standard deviation
  float exposure_stops = 0;      // standard deviation
  int passer_by_count = 0;
  bool black_points = false;
  bool no_points = false;
};

struct SynthFaults {         // what is wrong with one photo
  Vec2f blur_px{0, 0};       // standard deviation of the camera's motion, and its direction on the image
  float exposure_stops = 0;  // too bright if positive
  int passer_by = 0;         // the number of the figure that it shows; 0 means none
};

struct SynthView {
  std::string name;       // "0001.png" and so on, in order around each ring
  Camera camera;          // that took the photo
  Camera written_camera;  // that is written into the scene: not the same if there is noise
  SynthFaults faults = {};
};

// Cameras on three rings around the still life, looking at its middle, slightly displaced as if held by hand.
// World frame: z up, the ground at z = 0. Throws OptionError for an option that is out of range.
std::vector<SynthView> synth_cameras(const SynthOptions& options);

struct SynthPicture {
  Photo photo;
  std::vector<std::uint8_t> alpha;  // per pixel, of a transparent photo; the colours are not multiplied by it
  // At each pixel's centre: z in the camera's frame, in scene units, behind any passer-by; 0 for the sky and
  // where the photo is transparent.
  std::vector<float> depth;
};

// The photo of a view with its faults. The result does not depend on the number of threads.
SynthPicture synth_render(const SynthView& view, const SynthOptions& options);

// A photo without faults. `seed` is that of the options; it shifts the textures.
SynthPicture synth_render(const Camera& camera, std::uint64_t seed);

// Points on the surfaces and the sky as structure from motion would find them: visible to one of the cameras,
// slightly displaced, in the colours of the photos without gloss.
Points synth_points(const SynthOptions& options);

}  // namespace stipple
