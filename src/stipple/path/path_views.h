// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the ways to make a path share.
#include <string>
#include <vector>

#include "stipple/scene/scene.h"

namespace stipple {

// Those that were trained on, or all where none was. Error when there is none at all.
std::vector<SceneView> views_to_follow(const Scene& scene);

// The camera with the median field of view, with even sides, as video wants them.
Camera median_camera(const std::vector<SceneView>& views);

std::string frame_name(int index);  // 0: "0001.png"

}  // namespace stipple
