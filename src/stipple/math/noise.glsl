// SPDX-License-Identifier: Apache-2.0
// Noise that makes faint Gaussians explore the scene. Kheradmand et al., "3D Gaussian Splatting as Markov Chain Monte
// Carlo", 2024.
//
//   a = amount * sigmoid(100 (0.005 - opacity))      amount: an inverse length
//   mean' = mean + Sigma n * a / (1 + a s)           n: three standard normals; s: the largest scale
//
// The divisor is not in the paper. Without it, the displacement grows with the square of the scale: a large faint
// Gaussian is thrown out of the scene, or in front of a camera, and a scene of large Gaussians (blank walls, sky)
// dissolves. With it, the standard deviation of the displacement is at most the Gaussian's own.
//
// Random numbers are a hash of (Gaussian, seed), so that any thread can compute any of them. The generator uses only
// 32-bit integers, which every version of GLSL has. Nothing differentiates through noise, so it has no VJP. These
// functions process one Gaussian at a time and so may branch.

struct RandomBits {
  uint x;
  uint y;
  uint z;
};

// The mixing step of the hash: adds to each word the product of the other two.
FN RandomBits mix_bits(RandomBits v) {
  v.x = v.x + v.y * v.z;
  v.y = v.y + v.z * v.x;
  v.z = v.z + v.x * v.y;
  return v;
}

// PCG3D, a bijection of three words: one step of a linear congruential generator per word, then two mixing steps, and
// between these the high half of each word is XORed into its low half. Jarzynski and Olano, "Hash Functions for GPU
// Rendering", JCGT 2020.
FN RandomBits hash_of(RandomBits v) {
  v.x = v.x * 1664525u + 1013904223u;
  v.y = v.y * 1664525u + 1013904223u;
  v.z = v.z * 1664525u + 1013904223u;
  v = mix_bits(v);
  v.x = v.x ^ (v.x >> 16u);
  v.y = v.y ^ (v.y >> 16u);
  v.z = v.z ^ (v.z >> 16u);
  return mix_bits(v);
}

// An odd multiple of 2^-24 in (0, 1): it is exact in a float and has a finite logarithm.
FN real uniform_from_bits(uint bits) { return (real(bits >> 9u) + real(0.5)) * real(1.1920928955078125e-7); }

// Two standard normals from two uniforms. Box and Muller, "A Note on the Generation of Random Normal Deviates", 1958.
FN vec2 normals_from_uniforms(real u, real v) {
  real radius = sqrt(real(-2) * log(u));
  real angle = real(6.283185307179586) * v;
  return vec2(radius * cos(angle), radius * sin(angle));
}

// The random bits of one Gaussian. Hashed twice, because after one hash the key's highest bits affect too few bits.
FN RandomBits random_bits(uint gaussian, uint seed_low, uint seed_high) {
  RandomBits key;
  key.x = gaussian;
  key.y = seed_low;
  key.z = seed_high;
  return hash_of(hash_of(key));
}

// Three standard normals for one Gaussian. They need four uniforms; the fourth comes from another hash.
FN vec3 gaussian_noise(uint gaussian, uint seed_low, uint seed_high) {
  RandomBits bits = random_bits(gaussian, seed_low, seed_high);
  RandomBits more = hash_of(bits);
  vec2 xy = normals_from_uniforms(uniform_from_bits(bits.x), uniform_from_bits(bits.y));
  vec2 z = normals_from_uniforms(uniform_from_bits(bits.z), uniform_from_bits(more.x));
  return vec3(xy.x, xy.y, z.x);
}

CONST(real, noise_steepness, 100)
CONST(real, noise_faint_opacity, 0.005)  // at which the noise has half its strength
CONST(real, noise_max_opacity, 0.25)     // above this the factor is below 1e-10

// The mean with noise added, or the unchanged mean if the result would not be finite.
FN vec3 perturbed_mean(vec3 mean, vec3 log_scale, vec4 rotation, real logit_opacity, real amount, uint gaussian,
                       uint seed_low, uint seed_high) {
  real opacity = sigmoid(logit_opacity);
  if (!(opacity < noise_max_opacity)) return mean;
  Shape shape;
  shape.scale = scale_from_log(log_scale, real(1));
  shape.rotation = rotation;
  real a = amount * sigmoid(noise_steepness * (noise_faint_opacity - opacity));
  real largest = max(shape.scale.x, max(shape.scale.y, shape.scale.z));
  vec3 moved = mean + covariance(shape) * gaussian_noise(gaussian, seed_low, seed_high) * (a / (real(1) + a * largest));
  real zero = (moved.x + moved.y + moved.z) * real(0);  // or NaN if a coordinate is not finite
  return select(zero == real(0), moved, mean);
}
