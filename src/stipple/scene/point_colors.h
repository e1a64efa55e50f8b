// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/scene/scene.h"

namespace stipple {

// Whether the points came without colours: nearly all have the same one. Some programs write all points as
// black, and a .ply without colours is read as grey.
bool lack_colors(const Points& points);

}  // namespace stipple
