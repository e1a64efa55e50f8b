// SPDX-License-Identifier: Apache-2.0
// Projection of a world-space Gaussian through a pinhole camera (EWA splatting).
//
//   p = W mu + t                        mean in the camera frame, z forward
//   m = f p.xy / p.z + c                mean in pixels; pixel (i, j) has its centre at (i + 0.5, j + 0.5)
//   J = d m / d p                       with p.xy / p.z clamped to the image plus a margin of 15 % on each side
//   S = J C J^T,  C = W Sigma W^T       screen covariance, (xx, xy, yy)
//
// Zwicker et al., "EWA Splatting", 2002; Kerbl et al., 2023, section 4. J is only a linear approximation; the clamp
// keeps it from growing without bound outside the field of view. The gradient of the clamp is exact.

struct Pinhole {
  mat3 rotation;     // camera_from_world
  vec3 translation;  // camera_from_world, scene units
  vec2 focal_px;
  vec2 center_px;
  vec2 size_px;  // width and height of the image; constant, so they get no gradient
};

struct Placed {  // what project() needs of a Gaussian; also the type of its gradient
  vec3 mean;
  mat3 covariance;  // Sigma
};

struct Projected {
  vec2 mean_px;
  vec3 covariance_px2;  // (xx, xy, yy), before the blur
  real depth;           // z in the camera frame, scene units
};

CONST(real, view_margin, 0.15)  // fraction of the image size added on each side; a centred camera then has the classic limit, 1.3 tan(fov / 2)

FN vec2 slope_limit_low(Pinhole camera) {
  return -(camera.center_px + camera.size_px * view_margin) / camera.focal_px;
}

FN vec2 slope_limit_high(Pinhole camera) {
  return (camera.size_px * (real(1) + view_margin) - camera.center_px) / camera.focal_px;
}

struct ProjectionTerms {  // what project() and its VJP share
  vec3 p;
  real inverse_z;
  vec2 slope;    // p.xy / p.z
  vec2 clamped;  // slope within the limits
  vec2 f;        // focal_px / p.z
  mat3 C;
  vec3 jx;  // rows of J
  vec3 jy;
};

FN ProjectionTerms projection_terms(Placed g, Pinhole camera) {
  ProjectionTerms a;
  a.p = camera.rotation * g.mean + camera.translation;
  a.inverse_z = real(1) / a.p.z;
  a.slope = vec2(a.p.x, a.p.y) * a.inverse_z;
  a.clamped = clamp(a.slope, slope_limit_low(camera), slope_limit_high(camera));
  a.f = camera.focal_px * a.inverse_z;
  a.C = camera.rotation * g.covariance * transpose(camera.rotation);
  a.jx = vec3(a.f.x, real(0), -a.f.x * a.clamped.x);
  a.jy = vec3(real(0), a.f.y, -a.f.y * a.clamped.y);
  return a;
}

FN Projected project(Placed g, Pinhole camera) {
  ProjectionTerms a = projection_terms(g, camera);
  Projected result;
  result.mean_px = camera.focal_px * a.slope + camera.center_px;
  result.covariance_px2 = vec3(dot(a.jx, a.C * a.jx), dot(a.jx, a.C * a.jy), dot(a.jy, a.C * a.jy));
  result.depth = a.p.z;
  return result;
}

struct ProjectionGradient {  // with respect to the intermediate quantities
  vec3 dL_dp;
  mat3 dL_dC;
  vec2 dL_df;
  vec2 dL_dclamped;
};

FN ProjectionGradient projection_gradient(ProjectionTerms a, Pinhole camera, Projected dL_dresult) {
  ProjectionGradient d;
  vec3 dL_dS = dL_dresult.covariance_px2;
  vec3 Cx = a.C * a.jx;
  vec3 Cy = a.C * a.jy;
  vec3 dL_djx = Cx * (real(2) * dL_dS.x) + Cy * dL_dS.y;
  vec3 dL_djy = Cy * (real(2) * dL_dS.z) + Cx * dL_dS.y;
  // Symmetric: the packed xy entry is split evenly between the two off-diagonal entries.
  d.dL_dC = outerProduct(a.jx, a.jx) * dL_dS.x + outerProduct(a.jy, a.jy) * dL_dS.z +
            (outerProduct(a.jx, a.jy) + outerProduct(a.jy, a.jx)) * (real(0.5) * dL_dS.y);
  d.dL_df = vec2(dL_djx.x - a.clamped.x * dL_djx.z, dL_djy.y - a.clamped.y * dL_djy.z);
  d.dL_dclamped = vec2(-a.f.x * dL_djx.z, -a.f.y * dL_djy.z);

  vec2 dL_dslope = camera.focal_px * dL_dresult.mean_px;
  dL_dslope.x = dL_dslope.x + select(a.slope.x == a.clamped.x, d.dL_dclamped.x, real(0));
  dL_dslope.y = dL_dslope.y + select(a.slope.y == a.clamped.y, d.dL_dclamped.y, real(0));
  real dL_dinverse_z = dot(dL_dslope, vec2(a.p.x, a.p.y)) + dot(d.dL_df, camera.focal_px);
  d.dL_dp = vec3(dL_dslope.x * a.inverse_z, dL_dslope.y * a.inverse_z,
                 dL_dresult.depth - dL_dinverse_z * a.inverse_z * a.inverse_z);
  return d;
}

FN Placed project_vjp(Placed g, Pinhole camera, Projected dL_dresult) {
  ProjectionTerms a = projection_terms(g, camera);
  ProjectionGradient d = projection_gradient(a, camera, dL_dresult);
  Placed dL_dg;
  dL_dg.mean = transpose(camera.rotation) * d.dL_dp;
  dL_dg.covariance = transpose(camera.rotation) * d.dL_dC * camera.rotation;
  return dL_dg;
}

// For one coordinate. A clamped slope is (constant - center) / focal, so it depends on the focal length and the centre.
FN real clamped_focal_vjp(real slope, real clamped, real focal, real dL_dclamped) {
  return select(slope == clamped, real(0), -clamped / focal * dL_dclamped);
}

FN real clamped_center_vjp(real slope, real clamped, real focal, real dL_dclamped) {
  return select(slope == clamped, real(0), -dL_dclamped / focal);
}

// The gradient with respect to the camera; the nine entries of the rotation count as independent.
FN Pinhole project_camera_vjp(Placed g, Pinhole camera, Projected dL_dresult) {
  ProjectionTerms a = projection_terms(g, camera);
  ProjectionGradient d = projection_gradient(a, camera, dL_dresult);
  vec2 f = camera.focal_px;
  Pinhole dL_dcamera;
  dL_dcamera.rotation = outerProduct(d.dL_dp, g.mean) + d.dL_dC * camera.rotation * g.covariance * real(2);
  dL_dcamera.translation = d.dL_dp;
  dL_dcamera.focal_px = a.slope * dL_dresult.mean_px + d.dL_df * a.inverse_z +
                        vec2(clamped_focal_vjp(a.slope.x, a.clamped.x, f.x, d.dL_dclamped.x),
                             clamped_focal_vjp(a.slope.y, a.clamped.y, f.y, d.dL_dclamped.y));
  dL_dcamera.center_px = dL_dresult.mean_px +
                         vec2(clamped_center_vjp(a.slope.x, a.clamped.x, f.x, d.dL_dclamped.x),
                              clamped_center_vjp(a.slope.y, a.clamped.y, f.y, d.dL_dclamped.y));
  dL_dcamera.size_px = vec2(real(0), real(0));
  return dL_dcamera;
}
