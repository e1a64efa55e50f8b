// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/photo/photo.h"
#include "stipple/scene/scene.h"

namespace stipple {

// The view's photo as it is trained on: decoded, upright, masked, undistorted, at the camera's size.
Photo load_photo(const SceneView& view);

}  // namespace stipple
