// SPDX-License-Identifier: Apache-2.0
// Similarity of two images at one pixel and channel: |x - y|, and SSIM over an 11 x 11 Gaussian window.
//
//   with the window's means  mx = E[x], my = E[y], xx = E[x^2], yy = E[y^2], xy = E[xy]
//   ssim = (2 mx my + C1) (2 (xy - mx my) + C2) / ((mx^2 + my^2 + C1) (xx - mx^2 + yy - my^2 + C2))
//
// Wang et al., "Image quality assessment: from error visibility to structural similarity", 2004. The gradient
// with respect to the image applies the same window to these: dL_dx = E[dL_dmx] + 2 x E[dL_dxx] + y E[dL_dxy].

CONST(real, ssim_c1, 0.0001)  // 0.01^2
CONST(real, ssim_c2, 0.0009)  // 0.03^2
CONST(int, ssim_window_radius_px, 5)
CONST(real, ssim_window_variance_px2, 2.25)       // standard deviation 1.5
CONST(real, ssim_window_sum, 3.759232795169263)   // of the unnormalised weights at -5 .. 5

FN real ssim_window_weight(int offset) {
  real x = real(offset);
  return exp(-x * x / (real(2) * ssim_window_variance_px2)) / ssim_window_sum;
}

FN real absolute_difference(real x, real y) { return abs(x - y); }

FN real absolute_difference_vjp(real x, real y, real dL_dresult) {  // dL_dx; 0 if x = y
  return select(x > y, dL_dresult, select(x < y, -dL_dresult, real(0)));
}

struct WindowMeans {
  real x;
  real y;
  real xx;
  real yy;
  real xy;
};

FN real ssim(WindowMeans m) {
  real a1 = real(2) * m.x * m.y + ssim_c1;
  real a2 = real(2) * (m.xy - m.x * m.y) + ssim_c2;
  real b1 = m.x * m.x + m.y * m.y + ssim_c1;
  real b2 = m.xx - m.x * m.x + m.yy - m.y * m.y + ssim_c2;
  return a1 * a2 / (b1 * b2);
}

FN WindowMeans ssim_vjp(WindowMeans m, real dL_dssim) {
  real a1 = real(2) * m.x * m.y + ssim_c1;
  real a2 = real(2) * (m.xy - m.x * m.y) + ssim_c2;
  real b1 = m.x * m.x + m.y * m.y + ssim_c1;
  real b2 = m.xx - m.x * m.x + m.yy - m.y * m.y + ssim_c2;
  real scale = dL_dssim / (b1 * b2);
  real s = a1 * a2 * scale;
  WindowMeans g;
  g.x = real(2) * (m.y * (a2 - a1) * scale - m.x * s * (real(1) / b1 - real(1) / b2));
  g.y = real(2) * (m.x * (a2 - a1) * scale - m.y * s * (real(1) / b1 - real(1) / b2));
  g.xx = -s / b2;
  g.yy = -s / b2;
  g.xy = real(2) * a1 * scale;
  return g;
}
