// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// Camera paths through a scene, for rendering images and videos of a model. They stay close to the training
// cameras, since a model is only good where photos were taken.
#include <string>
#include <vector>

#include "stipple/scene/scene.h"

namespace stipple {

struct PathFrame {
  std::string name;  // of the image file: "0001.png"
  Camera camera;
};

// A closed loop around the centre of what the cameras look at: upright, as far away as the cameras on that
// side, with the median camera's field of view. If the cameras surround the centre, with no gap between
// neighbours wider than 90 degrees as seen from there, the loop goes all around at their median elevation.
// Otherwise it is an ellipse in azimuth and elevation within the range of most cameras, since no photo shows
// what is behind an arc of cameras. Throws Error if the cameras look outwards and there is nothing to orbit.
std::vector<PathFrame> orbit_path(const Scene& scene, int frame_count);

// A path through all training cameras in name order or, if the names jump around, from each camera to the
// nearest remaining one; that order is used if it more than halves the length of the path. The path closes if
// the last camera is near the first. It is smooth in position, rotation and field of view, and the image
// moves by the same amount from frame to frame as far as possible.
std::vector<PathFrame> interpolated_path(const Scene& scene, int frame_count);

// The scene's own cameras, training and test, named after their photos: left/0001.jpg becomes left/0001.png.
std::vector<PathFrame> photo_path(const Scene& scene);

// The camera for images of another size. Pixels keep their aspect ratio. If the shape differs, the view is
// cropped evenly at two opposite sides, so that nothing new comes into view.
Camera resized(const Camera& camera, int width_px, int height_px);

}  // namespace stipple
