// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#include "stipple/photo/photo.h"
#include "stipple/scene/scene.h"

namespace stipple {

// Loads a view's photo for training: decoded, upright, masked, undistorted, and at the camera's size.
Photo load_photo(const SceneView& view);

}  // namespace stipple
