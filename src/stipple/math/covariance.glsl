// SPDX-License-Identifier: Apache-2.0
// Shape of a Gaussian: the world covariance from scale and rotation, and its VJP.
//
//   R = rotation_from_quaternion(q)      M = R diag(s)      Sigma = M M^T
//
// q = (w, x, y, z) in that order. It may have any length: it is normalised here, and the VJP includes that.

struct Shape {
  vec3 scale;     // standard deviations along the Gaussian's own axes, scene units
  vec4 rotation;  // world_from_gaussian, quaternion (w, x, y, z)
};

// A quaternion whose squared length is outside these limits has no usable direction in float. It means "no rotation"
// and gets no gradient. NaN passes through, so that the Gaussian is culled later.
CONST(real, min_quaternion_length2, 1e-24)
CONST(real, max_quaternion_length2, 1e24)

FN boolean is_degenerate_quaternion(vec4 q) {
  return dot(q, q) < min_quaternion_length2 || dot(q, q) > max_quaternion_length2;
}

FN mat3 rotation_from_quaternion(vec4 q) {
  vec4 n = q * (real(1) / sqrt(dot(q, q)));
  n = select(is_degenerate_quaternion(q), vec4(real(1), real(0), real(0), real(0)), n);
  real w = n.x;
  real x = n.y;
  real y = n.z;
  real z = n.w;
  return mat3(
      real(1) - real(2) * (y * y + z * z), real(2) * (x * y + w * z), real(2) * (x * z - w * y),
      real(2) * (x * y - w * z), real(1) - real(2) * (x * x + z * z), real(2) * (y * z + w * x),
      real(2) * (x * z + w * y), real(2) * (y * z - w * x), real(1) - real(2) * (x * x + y * y));
}

FN vec4 rotation_from_quaternion_vjp(vec4 q, mat3 dL_dR) {
  real inverse_length = real(1) / sqrt(dot(q, q));
  vec4 n = q * inverse_length;
  real w = n.x;
  real x = n.y;
  real y = n.z;
  real z = n.w;
  mat3 G = dL_dR;  // G[column][row]
  vec4 dL_dn = real(2) * vec4(
      x * (G[1][2] - G[2][1]) + y * (G[2][0] - G[0][2]) + z * (G[0][1] - G[1][0]),
      y * (G[0][1] + G[1][0]) + z * (G[0][2] + G[2][0]) + w * (G[1][2] - G[2][1]) - real(2) * x * (G[1][1] + G[2][2]),
      x * (G[0][1] + G[1][0]) + z * (G[1][2] + G[2][1]) + w * (G[2][0] - G[0][2]) - real(2) * y * (G[0][0] + G[2][2]),
      x * (G[0][2] + G[2][0]) + y * (G[1][2] + G[2][1]) + w * (G[0][1] - G[1][0]) - real(2) * z * (G[0][0] + G[1][1]));
  vec4 dL_dq = (dL_dn - n * dot(dL_dn, n)) * inverse_length;  // through n = q / |q|
  return select(is_degenerate_quaternion(q), vec4(real(0), real(0), real(0), real(0)), dL_dq);
}

FN mat3 covariance(Shape shape) {
  mat3 R = rotation_from_quaternion(shape.rotation);
  mat3 M = mat3(R[0] * shape.scale.x, R[1] * shape.scale.y, R[2] * shape.scale.z);
  return M * transpose(M);
}

// dL_dSigma need not be symmetric; only its symmetric part has an effect.
FN Shape covariance_vjp(Shape shape, mat3 dL_dSigma) {
  mat3 R = rotation_from_quaternion(shape.rotation);
  vec3 s = shape.scale;
  mat3 M = mat3(R[0] * s.x, R[1] * s.y, R[2] * s.z);
  mat3 dL_dM = (dL_dSigma + transpose(dL_dSigma)) * M;

  Shape dL_dshape;
  dL_dshape.scale = vec3(dot(R[0], dL_dM[0]), dot(R[1], dL_dM[1]), dot(R[2], dL_dM[2]));
  dL_dshape.rotation = rotation_from_quaternion_vjp(
      shape.rotation, mat3(dL_dM[0] * s.x, dL_dM[1] * s.y, dL_dM[2] * s.z));
  return dL_dshape;
}

// A covariance that is given rather than computed is stored as its six distinct entries.
struct PackedCovariance {
  real xx;
  real xy;
  real xz;
  real yy;
  real yz;
  real zz;
};

FN mat3 unpack_covariance(PackedCovariance c) {
  return mat3(c.xx, c.xy, c.xz, c.xy, c.yy, c.yz, c.xz, c.yz, c.zz);
}

// An off-diagonal entry appears twice in the matrix, so its gradient is the sum over both positions.
FN PackedCovariance unpack_covariance_vjp(mat3 dL_dSigma) {
  PackedCovariance g;
  g.xx = dL_dSigma[0][0];
  g.xy = dL_dSigma[0][1] + dL_dSigma[1][0];
  g.xz = dL_dSigma[0][2] + dL_dSigma[2][0];
  g.yy = dL_dSigma[1][1];
  g.yz = dL_dSigma[1][2] + dL_dSigma[2][1];
  g.zz = dL_dSigma[2][2];
  return g;
}
