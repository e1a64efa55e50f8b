// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/camera/camera.h"
#include "stipple/camera/lens.h"
#include "stipple/photo/photo.h"

namespace stipple {

// The pinhole camera that shows what the lens sees without distortion and without blank pixels: a rectangle
// inside the undistorted borders of the photo, up to 60 degrees from the axis, with no more pixels than the
// lens. Its camera_from_world is the identity. A pinhole lens is returned unchanged.
Camera undistorted_camera(const Lens& lens);

// The photo as `camera` would have taken it; the camera's pose is ignored. Pixels that the lens did not see
// become black with weight 0. The photo must have the lens's size.
Photo undistort(const Photo& photo, const Lens& lens, const Camera& camera);

}  // namespace stipple
