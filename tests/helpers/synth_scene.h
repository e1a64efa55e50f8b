// SPDX-License-Identifier: Apache-2.0
#pragma once
// The built-in scene with small photos, for tests that train.
#include "stipple/camera/pinhole_lens.h"
#include "stipple/io/image/image_file.h"
#include "stipple/scene/formats/save_scene.h"
#include "stipple/synth/synth.h"

namespace stipple {

// Writes the scene, with the first `point_count` of its points, to the folder and loads it from there.
inline Scene make_synth_scene(const std::filesystem::path& folder, const SynthOptions& options,
                              std::size_t point_count) {
  std::filesystem::create_directories(folder / "images");
  std::filesystem::create_directories(folder / "sparse/0");
  std::vector<PosedImage> images;
  for (const SynthView& view : synth_cameras(options)) {
    const Photo photo = synth_render(view, options).photo;
    ByteImage image(photo.width_px, photo.height_px, 3);
    image.values = photo.rgb;
    save_png(image, folder / "images" / view.name);
    const Camera& camera = view.written_camera;
    images.push_back({view.name, pinhole_lens(camera), camera.camera_from_world});
  }
  Points points = synth_points(options);
  points.position.resize(point_count);
  points.color.resize(point_count);
  save_colmap(images, points, ColmapFormat::kBinary, folder / "sparse/0");
  return load_scene(folder);
}

}  // namespace stipple
