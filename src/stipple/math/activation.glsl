// SPDX-License-Identifier: Apache-2.0
// Activations: they map the stored, unconstrained parameters to the values that are used.
//
//   scale = m exp(log_scale)      opacity = 1 / (1 + exp(-logit_opacity))
//
// m is the global scale modifier. Both VJPs need only the activated value.

FN vec3 scale_from_log(vec3 log_scale, real modifier) {
  return vec3(exp(log_scale.x), exp(log_scale.y), exp(log_scale.z)) * modifier;
}

FN vec3 scale_from_log_vjp(vec3 scale, vec3 dL_dscale) { return scale * dL_dscale; }

FN real sigmoid(real x) { return real(1) / (real(1) + exp(-x)); }

FN real logit(real y) { return log(y / (real(1) - y)); }  // inverse of sigmoid()

FN real sigmoid_vjp(real y, real dL_dy) { return y * (real(1) - y) * dL_dy; }
