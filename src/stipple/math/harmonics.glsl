// SPDX-License-Identifier: Apache-2.0
// View-dependent colour by real spherical harmonics up to degree 3, with the signs customary in Gaussian splatting:
//
//   v = mu - camera centre = mu + W^T t      d = v / |v|      color = max(0, 1/2 + sum_k basis_k(d) sh_k)
//
// Only the basis is computed here: every backend streams the coefficients from its own memory, and their gradient is
// simply basis_k dL_dcolor. Sloan, "Efficient Spherical Harmonic Evaluation", JCGT 2013.

struct HarmonicBasis {
  real b[16];
};

CONST(real, sh_0, 0.28209479177387814)
CONST(real, sh_1, 0.4886025119029199)
CONST(real, sh_2_xy, 1.0925484305920792)  // also for yz and xz, with a negative sign
CONST(real, sh_2_zz, 0.31539156525252005)
CONST(real, sh_2_xx_yy, 0.5462742152960396)
CONST(real, sh_3_cubic, 0.5900435899266435)
CONST(real, sh_3_xyz, 2.890611442640554)
CONST(real, sh_3_4zz, 0.4570457994644658)
CONST(real, sh_3_2zz, 0.3731763325901154)
CONST(real, sh_3_z, 1.445305721320277)

FN int harmonic_count(int degree) { return (degree + 1) * (degree + 1); }

FN HarmonicBasis harmonic_basis(int degree, vec3 d) {  // d: unit direction, camera to Gaussian
  HarmonicBasis h;
  real x = d.x;
  real y = d.y;
  real z = d.z;
  for (int i = 0; i < 16; ++i) h.b[i] = real(0);
  h.b[0] = sh_0;
  if (degree > 0) {
    h.b[1] = -sh_1 * y;
    h.b[2] = sh_1 * z;
    h.b[3] = -sh_1 * x;
  }
  if (degree > 1) {
    h.b[4] = sh_2_xy * x * y;
    h.b[5] = -sh_2_xy * y * z;
    h.b[6] = sh_2_zz * (real(2) * z * z - x * x - y * y);
    h.b[7] = -sh_2_xy * x * z;
    h.b[8] = sh_2_xx_yy * (x * x - y * y);
  }
  if (degree > 2) {
    h.b[9] = -sh_3_cubic * y * (real(3) * x * x - y * y);
    h.b[10] = sh_3_xyz * x * y * z;
    h.b[11] = -sh_3_4zz * y * (real(4) * z * z - x * x - y * y);
    h.b[12] = sh_3_2zz * z * (real(2) * z * z - real(3) * x * x - real(3) * y * y);
    h.b[13] = -sh_3_4zz * x * (real(4) * z * z - x * x - y * y);
    h.b[14] = sh_3_z * z * (x * x - y * y);
    h.b[15] = -sh_3_cubic * x * (x * x - real(3) * y * y);
  }
  return h;
}

FN vec3 harmonic_basis_vjp(int degree, vec3 d, HarmonicBasis dL_dh) {
  vec3 g = vec3(real(0), real(0), real(0));
  real x = d.x;
  real y = d.y;
  real z = d.z;
  if (degree > 0) g = g + sh_1 * vec3(-dL_dh.b[3], -dL_dh.b[1], dL_dh.b[2]);
  if (degree > 1) {
    g = g + (sh_2_xy * dL_dh.b[4]) * vec3(y, x, real(0));
    g = g - (sh_2_xy * dL_dh.b[5]) * vec3(real(0), z, y);
    g = g + (sh_2_zz * dL_dh.b[6]) * vec3(real(-2) * x, real(-2) * y, real(4) * z);
    g = g - (sh_2_xy * dL_dh.b[7]) * vec3(z, real(0), x);
    g = g + (sh_2_xx_yy * dL_dh.b[8]) * vec3(real(2) * x, real(-2) * y, real(0));
  }
  if (degree > 2) {
    g = g - (sh_3_cubic * dL_dh.b[9]) * vec3(real(6) * x * y, real(3) * (x * x - y * y), real(0));
    g = g + (sh_3_xyz * dL_dh.b[10]) * vec3(y * z, x * z, x * y);
    g = g - (sh_3_4zz * dL_dh.b[11]) *
                vec3(real(-2) * x * y, real(4) * z * z - x * x - real(3) * y * y, real(8) * y * z);
    g = g + (sh_3_2zz * dL_dh.b[12]) *
                vec3(real(-6) * x * z, real(-6) * y * z, real(6) * z * z - real(3) * (x * x + y * y));
    g = g - (sh_3_4zz * dL_dh.b[13]) *
                vec3(real(4) * z * z - real(3) * x * x - y * y, real(-2) * x * y, real(8) * x * z);
    g = g + (sh_3_z * dL_dh.b[14]) * vec3(real(2) * x * z, real(-2) * y * z, x * x - y * y);
    g = g - (sh_3_cubic * dL_dh.b[15]) * vec3(real(3) * (x * x - y * y), real(-6) * x * y, real(0));
  }
  return g;
}

// Offset from the camera's centre, in the world frame.
FN vec3 view_offset(vec3 mean, Pinhole camera) { return mean + transpose(camera.rotation) * camera.translation; }

// The gradient with respect to the camera; the Jacobian with respect to the mean is the identity.
FN Pinhole view_offset_camera_vjp(Pinhole camera, vec3 dL_dv) {
  Pinhole g;
  g.rotation = outerProduct(camera.translation, dL_dv);
  g.translation = camera.rotation * dL_dv;
  g.focal_px = vec2(real(0), real(0));
  g.center_px = vec2(real(0), real(0));
  g.size_px = vec2(real(0), real(0));
  return g;
}

CONST(real, min_view_distance, 1e-8)  // closer than this the direction is undefined and gets no gradient

FN vec3 view_direction(vec3 v) {
  real distance = sqrt(dot(v, v));
  return select(distance > min_view_distance, v * (real(1) / distance), vec3(real(0), real(0), real(1)));
}

FN vec3 view_direction_vjp(vec3 v, vec3 dL_dd) {
  real distance = sqrt(dot(v, v));
  vec3 d = v * (real(1) / distance);
  vec3 dL_dv = (dL_dd - d * dot(d, dL_dd)) * (real(1) / distance);
  return select(distance > min_view_distance, dL_dv, vec3(real(0), real(0), real(0)));
}

FN vec3 color_from_harmonics(vec3 sum) {  // sum_k basis_k sh_k
  return vec3(max(sum.x + real(0.5), real(0)), max(sum.y + real(0.5), real(0)), max(sum.z + real(0.5), real(0)));
}

// The part of a clamped channel's gradient that is passed on. The exact gradient is 0, which would keep the channel at
// the clamp for ever. A training step that lifts clamped channels gets the gradient if descent along it raises them.
FN real clamped_gradient(real dL_dchannel, bool lifts) { return lifts ? min(dL_dchannel, real(0)) : real(0); }

// Needs only the colour, which is 0 exactly where the sum was clamped.
FN vec3 color_from_harmonics_vjp(vec3 color, vec3 dL_dcolor, bool lifts_clamped) {
  return vec3(select(color.x > real(0), dL_dcolor.x, clamped_gradient(dL_dcolor.x, lifts_clamped)),
              select(color.y > real(0), dL_dcolor.y, clamped_gradient(dL_dcolor.y, lifts_clamped)),
              select(color.z > real(0), dL_dcolor.z, clamped_gradient(dL_dcolor.z, lifts_clamped)));
}
