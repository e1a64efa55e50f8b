// SPDX-License-Identifier: Apache-2.0
// What one view tells density control of a Gaussian that is drawn in it, to be added up over views:
//
//   (|dL_dmean_px * size / 2|, 1)
//
// The gradient is measured in half picture sizes, as if coordinates went from -1 to 1 over the picture, so that a
// threshold serves for any resolution. Kerbl et al., 2023, section 5. Nothing differentiates through it.

FN vec2 density_statistic(vec2 dL_dmean_px, vec2 half_size_px) {
  vec2 g = dL_dmean_px * half_size_px;
  return vec2(sqrt(dot(g, g)), real(1));
}
