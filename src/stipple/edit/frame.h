// SPDX-License-Identifier: Apache-2.0
#pragma once
// Frames by the directions of their axes.
#include <string_view>

#include "stipple/edit/similarity_transform.h"

namespace stipple {

// Changes the axes of a frame. A name has three letters that say where the axes x, y and z point, as somebody
// sees it who looks along a camera that is not rotated: left or right, up or down, front or back. "rdf" is
// the frame of COLMAP and of most .ply files, "rub" that of OpenGL and glTF. Each of the 48 such names, in
// upper or lower case, is a frame; half of them are the mirror images of the others. Throws Error if a name
// is not one.
SimilarityTransform change_of_frame(std::string_view from, std::string_view to);

}  // namespace stipple
