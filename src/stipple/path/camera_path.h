// SPDX-License-Identifier: Apache-2.0
#pragma once
// Flights through a scene, for pictures and videos of a model. They follow the cameras that were trained on,
// since a model is only good where photos were taken.
#include <string>
#include <vector>

#include "stipple/scene/scene.h"

namespace stipple {

struct PathFrame {
  std::string name;  // of the picture's file: "0001.png"
  Camera camera;
};

// A closed loop that looks at the middle of what the cameras look at, upright, from as far away as the
// cameras on that side, with the median camera's field of view. Where they went all around it, which is when
// no gap between neighbours, seen from the middle, is wider than 90 degrees, so does the loop, at their
// median elevation. Else it is an ellipse in azimuth and elevation within the range of most cameras: behind
// an arc is what no photo shows. Error when the cameras look outwards: there is nothing to fly around.
std::vector<PathFrame> orbit_path(const Scene& scene, int frame_count);

// Through all cameras in name order, or from each to the nearest that is left where the names jump around:
// where that more than halves the way. Back to the first when it is near the last. Smooth in place, rotation
// and field of view, and as even as can be in how much the picture moves from frame to frame.
std::vector<PathFrame> interpolated_path(const Scene& scene, int frame_count);

// The scene's own cameras, train and test, named like their photos: left/0001.jpg is left/0001.png.
std::vector<PathFrame> photo_path(const Scene& scene);

// The camera for pictures of another size. Pixels stay as square as they are: what no longer fits is cut off
// at both sides, so that nothing comes into view that was not there.
Camera resized(const Camera& camera, int width_px, int height_px);

}  // namespace stipple
