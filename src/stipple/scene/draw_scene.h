// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/image/image.h"
#include "stipple/scene/scene.h"

namespace stipple {

// Draws the cameras (test views in another colour) and the points, seen from above and from the side.
Image draw_scene(const Scene& scene);

}  // namespace stipple
