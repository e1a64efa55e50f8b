// SPDX-License-Identifier: Apache-2.0
#pragma once
// Metashape's camera models. With x = X / Z and y = Y / Z (for a fisheye, scaled to the length of the angle
// from the axis), r^2 = x^2 + y^2:
//
//   x' = x (1 + k1 r^2 + k2 r^4 + k3 r^6 + k4 r^8) + (p1 (r^2 + 2 x^2) + 2 p2 x y) (1 + p3 r^2 + p4 r^4)
//   y' = y (1 + k1 r^2 + k2 r^4 + k3 r^6 + k4 r^8) + (p2 (r^2 + 2 y^2) + 2 p1 x y) (1 + p3 r^2 + p4 r^4)
//   u = w / 2 + cx + x' (f + b1) + y' b2,    v = h / 2 + cy + y' f
//
// so that p1 and p2 are OpenCV's p2 and p1.
#include <pugixml.hpp>

#include "stipple/scene/formats/lens_terms.h"

namespace stipple {

// Reads the lens of a <sensor>.
LensWithTerms read_metashape_lens(pugi::xml_node sensor);

}  // namespace stipple
