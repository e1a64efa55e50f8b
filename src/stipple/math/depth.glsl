// SPDX-License-Identifier: Apache-2.0
// How far the blended depth of a pixel is from a depth that is known there.
//
//   error = |D - A / d| = |sum_i w_i (1 / z_i - 1 / d)|
//
// D is the blended inverse depth sum_i w_i / z_i, A the accumulated alpha sum_i w_i, and d the known depth. A
// pixel that shows nothing has no error: the error says where what is seen should be, not that there is
// something to see.

struct DepthPixel {
  real inverse_depth;
  real alpha;
};

FN real depth_error(DepthPixel p, real known_inverse_depth) {
  return absolute_difference(p.inverse_depth, p.alpha * known_inverse_depth);
}

FN DepthPixel depth_error_vjp(DepthPixel p, real known_inverse_depth, real dL_derror) {
  DepthPixel g;
  g.inverse_depth = absolute_difference_vjp(p.inverse_depth, p.alpha * known_inverse_depth, dL_derror);
  g.alpha = -known_inverse_depth * g.inverse_depth;
  return g;
}
