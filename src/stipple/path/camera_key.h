// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/camera/camera.h"

namespace stipple {

// A camera as numbers that can be interpolated.
struct CameraKey {
  Vec3<double> position;   // world frame
  Vec4<double> rotation;   // camera_from_world as a quaternion (w, x, y, z), of any length and either sign
  Vec2<double> log_focal;  // log of pixels, so that focal lengths stay positive and zooming is even
  Vec2<double> center_px;
};

CameraKey key_of(const Camera& camera);

// The camera of a key, with the size of `camera`.
Camera camera_of(const CameraKey& key, Camera camera);

// From a at t = 0 to b at t = 1, and on along the same line outside of that.
CameraKey mix(const CameraKey& a, const CameraKey& b, double t);

// q and -q are the same rotation; this returns the one nearer to `other`.
Vec4<double> beside(Vec4<double> q, Vec4<double> other);

// How far the image moves between two keys, in radians of view: by rotation, by zooming, and by translation
// relative to objects at a depth.
double travel(const CameraKey& a, const CameraKey& b, double depth);

}  // namespace stipple
