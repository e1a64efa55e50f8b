// SPDX-License-Identifier: Apache-2.0
// Density statistics of one Gaussian in one view, accumulated over the views in which it is drawn:
//
//   (|dL_dmean_px * size / 2|, 1)
//
// The gradient is measured in half image sizes, as if coordinates ran from -1 to 1 across the image, so that one
// threshold serves every resolution. Kerbl et al., 2023, section 5. Nothing differentiates through it.

FN vec2 density_statistic(vec2 dL_dmean_px, vec2 half_size_px) {
  vec2 g = dL_dmean_px * half_size_px;
  return vec2(sqrt(dot(g, g)), real(1));
}
