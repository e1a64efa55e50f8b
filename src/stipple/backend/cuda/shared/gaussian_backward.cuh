// SPDX-License-Identifier: Apache-2.0
#pragma once
// The backward pass of one Gaussian: from its splat's gradient to the gradients of its stored parameters.
//
// The files that include this are compiled without contraction to fused multiply-adds (see
// src/stipple/CMakeLists.txt), so that project_backward followed by optimize gives the same bits as
// project_backward_optimize.
#include "stipple/backend/cuda/shared/gaussian.cuh"
#include "stipple/backend/cuda/shared/visible_row.cuh"

namespace stipple::cuda {

struct GaussianGradient {
  M::StoredGaussian stored{{0, 0, 0}, {0, 0, 0}, {0, 0, 0, 0}, 0, {0, 0, 0, 0, 0, 0}};
  Vec3f sh_sum{0, 0, 0};  // of sum_k basis_k sh_k; coefficient k gets basis_k times this
  Vec3f color{0, 0, 0};   // if the colour was given
};

struct SeenSplat {  // what the backward pass needs from the forward pass
  float opacity = 0, depth = 0;
  Vec3f color{0, 0, 0};
};

__device__ inline SeenSplat load_seen(const ProjectedSplat* splats, unsigned i) {
  const auto* from = reinterpret_cast<const float4*>(splats + i);
  const float4 b = from[1];
  SeenSplat s;
  s.opacity = b.y;
  if (!(s.opacity > 0)) return s;
  const float4 c = from[2];
  s.color = Vec3f(b.z, b.w, c.x);
  s.depth = c.z;
  return s;
}

// The coefficients of the warp's Gaussians that are drawn, from the copies that there are.
template <int kDegree>
__device__ void load_shown(const GaussianPointers& g, std::size_t first, unsigned drawn, LaneRow at,
                           ShownCopies shown, CoefficientRows<kDegree>& rows) {
  unsigned in_place = drawn;
  if (shown.row) {
    const unsigned copied = __ballot_sync(kAllLanes, at.is_shown && at.row < shown.count);
    rows.load_dense(shown.row + first_row_of_warp(at) * rows.kFloats, copied, drawn & copied);
    in_place = drawn & ~copied;
  }
  rows.load(g.coefficients() + first * rows.kFloats, in_place);
}

__device__ inline Splat load_splat_gradient(const Splat* gradients, unsigned i) {
  static_assert(sizeof(Splat) == 40);
  const auto* from = reinterpret_cast<const float2*>(gradients + i);
  const float2 a = from[0], b = from[1], c = from[2], d = from[3], e = from[4];
  Splat s;
  s.mean_px = Vec2f(a.x, a.y);
  s.conic = Vec3f(b.x, b.y, c.x);
  s.opacity = c.y;
  s.channels = Vec4f(d.x, d.y, e.x, e.y);
  return s;
}

// For a Gaussian that is drawn. Sets `basis`, for the coefficients' gradients; dL_dcamera may be null.
template <bool kAltered, int kDegree>
__device__ GaussianGradient gaussian_backward(const GaussianPointers& g, const M::ActiveGaussian& in,
                                              const M::Pinhole& camera, const M::RenderSettings& settings,
                                              const SeenSplat& seen, const Splat& dL, bool lifts_clamped,
                                              const CoefficientRows<kDegree>& rows, M::HarmonicBasis& basis,
                                              M::Pinhole* dL_dcamera) {
  GaussianGradient out;
  const M::GaussianVjp vjp = M::gaussian_vjp(in, form_of<kAltered>(g), camera, settings, seen.depth, dL);

  Vec3f dL_doffset(0, 0, 0);
  const Vec3f dL_dcolor(dL.channels.x, dL.channels.y, dL.channels.z);
  if (g.color) {
    out.color = dL_dcolor;
  } else {
    const M::ViewRay ray = M::view_ray(in.placed.mean, camera);
    basis = M::harmonic_basis(kDegree, ray.direction);
    out.sh_sum = M::color_from_harmonics_vjp(seen.color, dL_dcolor, lifts_clamped);
    const auto row = rows.own();
    M::HarmonicBasis dL_dbasis;
#pragma unroll
    for (int k = 0; k < 16; ++k)
      dL_dbasis.b[k] = k < rows.kCount ? dot(row[k < rows.kCount ? k : 0], out.sh_sum) : 0.0f;
    dL_doffset = M::view_ray_vjp(kDegree, ray, dL_dbasis);
  }
  out.stored = vjp.dL_dstored;
  out.stored.mean = out.stored.mean + dL_doffset;
  if (dL_dcamera) *dL_dcamera = M::gaussian_camera_vjp(in.placed, camera, vjp.dL_dprojected, dL_doffset);
  return out;
}

// A warp's basis functions and gradients of their sums, in shared memory; the products are the gradients of
// the coefficients.
template <int kDegree>
struct CoefficientGradients {
  static constexpr int kCount = CoefficientRows<kDegree>::kCount, kFloats = CoefficientRows<kDegree>::kFloats;
  static constexpr int kStride = kCount % 2 == 0 ? kCount + 1 : kCount;
  float basis[kWarp * kStride], sum[kWarp * 3];

  __device__ void store(const M::HarmonicBasis& b, Vec3f sh_sum, bool is_drawn) {
    const int lane = lane_index();
#pragma unroll
    for (int k = 0; k < kCount; ++k) basis[lane * kStride + k] = is_drawn ? b.b[k] : 0.0f;
    for (int c = 0; c < 3; ++c) sum[3 * lane + c] = sh_sum[c];
    __syncwarp();
  }
  __device__ float operator()(int row, int place) const {  // place = 3 k + channel
    return basis[row * kStride + place / 3] * sum[3 * row + place % 3];
  }
};

}  // namespace stipple::cuda
