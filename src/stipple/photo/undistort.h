// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/camera/camera.h"
#include "stipple/camera/lens.h"
#include "stipple/photo/photo.h"

namespace stipple {

// The pinhole camera, with the identity as camera_from_world, that shows what the lens sees without
// distortion and without blank pixels: of each side of the picture as much as fits a rectangle, up to 60
// degrees from the axis, and no more pixels than the lens has. A pinhole lens comes back as it is.
Camera undistorted_camera(const Lens& lens);

// The photo as that camera would have taken it; its pose does not matter. Pixels that the lens did not see
// become black with weight 0. The photo must have the lens's size.
Photo undistort(const Photo& photo, const Lens& lens, const Camera& camera);

}  // namespace stipple
