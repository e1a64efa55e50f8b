// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shared by the implementations of camera paths.
#include <string>
#include <vector>

#include "stipple/scene/scene.h"

namespace stipple {

// The training views, or all views if there are none. Throws Error if the scene has no views at all.
std::vector<SceneView> views_to_follow(const Scene& scene);

// The camera for images with even sides, as video encoders need them.
Camera with_even_sides(const Camera& camera);

// The camera with the median field of view, with even sides.
Camera median_camera(const std::vector<SceneView>& views);

std::string frame_name(int index);  // "0001.png" for 0

}  // namespace stipple
