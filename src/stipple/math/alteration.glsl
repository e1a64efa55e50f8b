// SPDX-License-Identifier: Apache-2.0
// What training changes about a Gaussian before it is projected. The changes are constants for the gradients.
//
// The 3D filter widens a Gaussian to what the cameras can resolve, and dims it so that it shows as much as before:
//   s'_k = sqrt(s_k^2 + v)      o' = o prod_k r_k      r_k = s_k / s'_k
// Yu et al., "Mip-Splatting", 2024. A product of ratios stays in range where that of the variances would not.
//
// Dropout leaves a random share p of the Gaussians out of a step and makes the others more opaque instead:
//   o' = 0 with probability p, otherwise o / (1 - p)
// Park et al., "DropGaussian", 2025. The choice is a hash, so that every backend makes the same one.

struct Alteration {
  real filter_variance;  // v, in square scene units; 0 for no filter
  real opacity_factor;   // from dropout
};

struct Filtered {
  vec3 scale;
  real dimming;  // prod_k r_k
};

FN vec3 widened_scale(vec3 scale, real variance) {
  vec3 wide = vec3(sqrt(scale.x * scale.x + variance), sqrt(scale.y * scale.y + variance),
                   sqrt(scale.z * scale.z + variance));
  return select(variance > real(0), wide, scale);
}

// r_k, also where a scale is so small that its square is 0.
FN vec3 filter_ratio(vec3 scale, vec3 wide, real variance) {
  return select(variance > real(0), vec3(scale.x / wide.x, scale.y / wide.y, scale.z / wide.z),
                vec3(real(1), real(1), real(1)));
}

FN Filtered filtered(vec3 scale, real variance) {
  Filtered result;
  result.scale = widened_scale(scale, variance);
  vec3 r = filter_ratio(scale, result.scale, variance);
  result.dimming = r.x * r.y * r.z;
  return result;
}

// dr_k/ds_k = v / s'_k^3 = (1 - r_k^2) / s'_k. Returns dL_dscale.
FN vec3 filtered_vjp(vec3 scale, real variance, Filtered dL_dresult) {
  vec3 wide = widened_scale(scale, variance);
  vec3 r = filter_ratio(scale, wide, variance);
  vec3 slope = vec3(r.y * r.z * (real(1) - r.x * r.x) / wide.x, r.x * r.z * (real(1) - r.y * r.y) / wide.y,
                    r.x * r.y * (real(1) - r.z * r.z) / wide.z);
  return select(variance > real(0), dL_dresult.scale * r + slope * dL_dresult.dimming, dL_dresult.scale);
}

struct Dropout {  // the same for all Gaussians of a view
  uint seed_low;
  uint seed_high;
  uint threshold;    // p 2^32: a Gaussian whose random number is below it is left out
  uint first;        // the index in the whole model of Gaussian 0
  real kept_factor;  // 1 / (1 - p)
};

FN real dropout_factor(uint gaussian, Dropout dropout) {
  uint bits = random_bits(dropout.first + gaussian, dropout.seed_low, dropout.seed_high).x;
  return bits < dropout.threshold ? real(0) : dropout.kept_factor;
}
