// SPDX-License-Identifier: Apache-2.0
// The footprint of a Gaussian of the window, and its mean; opacity 0 if it is not shown.
#define DEFINE_FOOTPRINT                                                                        \
  Footprint footprint_of_gaussian(uint i, out vec3 from_mean) {                                 \
    ActiveGaussian g = load_gaussian(i, scale_modifier, first_gaussian + i, view_dropout());    \
    from_mean = g.placed.mean;                                                                  \
    Footprint f = footprint(g.placed, g.opacity, view_camera(), view_settings());               \
    if (has_nan(load_stored(i))) f.opacity = 0.0;                                               \
    return f;                                                                                   \
  }
