// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "stipple/math/host_device.h"

namespace stipple {

#include "stipple/math/vec.inc"

using Vec2f = Vec2<float>;
using Vec3f = Vec3<float>;
using Vec4f = Vec4<float>;
using Mat3f = Mat3<float>;

}  // namespace stipple
