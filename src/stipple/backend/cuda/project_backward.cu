// SPDX-License-Identifier: Apache-2.0
// project_backward: from the splats' gradients to those of the stored parameters and, if wanted, of the
// camera; one thread per Gaussian.
#include <utility>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/gaussian_backward.cuh"
#include "stipple/backend/cuda/shared/visible_row.cuh"
#include "stipple/backend/render_settings.h"

namespace stipple::cuda {

namespace {

constexpr int kThreads = 128;

struct GradientPointers : GaussianArrays<Pointer> {
  Vec3f* color;
  PackedCovariance* covariance;
  Vec2f* view_statistics;  // or null
  double* camera;          // kCameraFields per block, or null
  bool adds;               // to what the arrays hold, instead of overwriting it
};

__device__ PackedCovariance sum_of(const PackedCovariance& a, const PackedCovariance& b) {
  PackedCovariance s;
  s.xx = a.xx + b.xx;
  s.xy = a.xy + b.xy;
  s.xz = a.xz + b.xz;
  s.yy = a.yy + b.yy;
  s.yz = a.yz + b.yz;
  s.zz = a.zz + b.zz;
  return s;
}

__device__ void store(const M::StoredGaussian& d, Vec3f color, unsigned i, const GradientPointers& out) {
  auto* rotation = reinterpret_cast<float4*>(out.rotation) + i;
  const float4 q = out.adds ? *rotation : make_float4(0, 0, 0, 0);
  const bool adds = out.adds;
  out.mean[i] = adds ? out.mean[i] + d.mean : d.mean;
  out.log_scale[i] = adds ? out.log_scale[i] + d.log_scale : d.log_scale;
  *rotation =
      adds ? make_float4(q.x + d.rotation.x, q.y + d.rotation.y, q.z + d.rotation.z, q.w + d.rotation.w)
           : make_float4(d.rotation.x, d.rotation.y, d.rotation.z, d.rotation.w);
  out.logit_opacity[i] = adds ? out.logit_opacity[i] + d.logit_opacity : d.logit_opacity;
  if (out.color) out.color[i] = adds ? out.color[i] + color : color;
  if (out.covariance) out.covariance[i] = adds ? sum_of(out.covariance[i], d.covariance) : d.covariance;
}

// Sums the camera's gradient over the block, one Gaussian per thread.
__device__ void add_camera(const M::Pinhole& d, double* out) {
  const float field[kCameraFields] = {d.rotation[0].x, d.rotation[0].y, d.rotation[0].z, d.rotation[1].x,
                                      d.rotation[1].y, d.rotation[1].z, d.rotation[2].x, d.rotation[2].y,
                                      d.rotation[2].z, d.translation.x, d.translation.y, d.translation.z,
                                      d.focal_px.x,    d.focal_px.y,    d.center_px.x,   d.center_px.y};
  for (int k = 0; k < kCameraFields; ++k) {
    const double sum = sum_over_block<kThreads>(static_cast<double>(field[k]));
    if (threadIdx.x == 0) out[k] = sum;
  }
}

__device__ M::Pinhole no_camera() {
  M::Pinhole p;
  p.rotation = Mat3f(0, 0, 0, 0, 0, 0, 0, 0, 0);
  p.translation = Vec3f(0, 0, 0);
  p.focal_px = p.center_px = p.size_px = Vec2f(0, 0);
  return p;
}

template <int kDegree, bool kAltered>
__global__ void __launch_bounds__(kThreads)
    project_backward_kernel(GaussianPointers g, M::Pinhole camera, M::RenderSettings settings,
                            const VisibleBlock* visible, const ViewStatus* status,
                            const ProjectedSplat* splats, const Splat* dL_dsplat, const Vec2f* absolute,
                            ShownCopies shown, Vec2f half_size, bool lifts_clamped, GradientPointers out) {
  __shared__ CoefficientRows<kDegree> all_rows[kThreads / kWarp];
  __shared__ CoefficientGradients<kDegree> all_gradients[kThreads / kWarp];
  CoefficientRows<kDegree>& rows = all_rows[threadIdx.x / kWarp];
  CoefficientGradients<kDegree>& coefficients = all_gradients[threadIdx.x / kWarp];
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const std::size_t first = i - lane_index();
  const LaneRow from = row_of_lane(visible, i, g.count);
  const SeenSplat seen = from.is_shown && !status->has_overflowed ? load_seen(splats, from.row) : SeenSplat();
  const bool is_drawn = seen.opacity > 0;
  if (!g.color) load_shown(g, first, __ballot_sync(kAllLanes, is_drawn), from, shown, rows);
  GaussianGradient d;
  M::HarmonicBasis basis;
  M::Pinhole dL_dcamera = no_camera();
  if (is_drawn)
    d = gaussian_backward<kAltered>(g, load_gaussian<kAltered>(g, i, settings.scale_modifier), camera,
                                    settings, seen, load_splat_gradient(dL_dsplat, from.row), lifts_clamped,
                                    rows, basis, out.camera ? &dL_dcamera : nullptr);
  coefficients.store(basis, d.sh_sum, is_drawn && !g.color);
  for (int k = 0; k < rows.kFloats; ++k) {
    const int at = k * kWarp + lane_index(), row = at / rows.kFloats;
    if (first + row >= g.count) continue;
    float& to = reinterpret_cast<float*>(out.sh)[first * rows.kFloats + at];
    const float mine = coefficients(row, at % rows.kFloats);
    to = out.adds ? to + mine : mine;
  }
  if (i < g.count) {
    store(d.stored, d.color, i, out);
    if (out.view_statistics) {
      Vec2f sum = out.adds ? out.view_statistics[i] : Vec2f(0, 0);
      if (is_drawn)
        sum = sum +
              M::density_statistic(absolute ? absolute[from.row] : dL_dsplat[from.row].mean_px, half_size);
      out.view_statistics[i] = sum;
    }
  }
  if (out.camera) add_camera(dL_dcamera, out.camera + std::size_t{blockIdx.x} * kCameraFields);
}

constexpr int kCameraThreads = kCameraFields * kWarp;

// Adds up the blocks' sums of the camera's gradient, always in the same order; one warp per field.
__global__ void __launch_bounds__(kCameraThreads)
    sum_camera_kernel(const double* block_sums, unsigned blocks, ViewStatus* out) {
  const unsigned field = threadIdx.x / kWarp;
  double sum = 0;
  for (unsigned b = static_cast<unsigned>(lane_index()); b < blocks; b += kWarp)
    sum += block_sums[b * kCameraFields + field];
  sum = sum_over_warp(sum);
  if (lane_index() == 0) out->camera[field] = static_cast<float>(sum);
}

}  // namespace

void CudaBackend::project_backward(const DeviceGaussians& gaussians, const Precomputed& precomputed,
                                   const View& view, const WantedGradients& wanted, Pass& pass,
                                   GradientSum& sum) {
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  write_pending_gradients(pass);
  resize_sum(*this, gaussians, precomputed, wanted, sum);
  const std::size_t count = gaussians.size();
  const bool adds = !std::exchange(sum.is_empty, false);
  if (count == 0) return;
  const unsigned blocks = blocks_for(count, kThreads);
  mine.camera_sums.resize(*this, wanted.camera ? std::size_t{blocks} * kCameraFields : 0);
  GradientPointers out{};
  out.sh_degree = gaussians.sh_degree;
  for_each_parameter([](int, auto& to, auto& from) { to = pointer(from); }, out, sum.gaussians);
  out.color = pointer(sum.precomputed.color);
  out.covariance = pointer(sum.precomputed.covariance);
  out.view_statistics = pointer(sum.view_statistics);
  out.camera = pointer(mine.camera_sums);
  out.adds = adds;
  const GaussianPointers g = pointers(gaussians, precomputed, view);
  with_form(g, [&](auto degree, auto is_altered) {
    project_backward_kernel<degree(), is_altered()><<<blocks, kThreads, 0, stream()>>>(
        g, pinhole(view.camera), render_settings(view.options), pointer(pass.projection.visible),
        mine.view_status(), pointer(pass.projection.splat), pointer(pass.dL_dsplat.splat),
        pointer(pass.dL_dsplat.absolute_mean_px), shown_copies(mine, gaussians.sh_degree),
        half_size_of(view.camera), wanted.lifts_clamped_colors, out);
  });
  if (wanted.camera)
    sum_camera_kernel<<<1, kCameraThreads, 0, stream()>>>(pointer(mine.camera_sums), blocks,
                                                          mine.view_status());
  check(cudaGetLastError(), "launch project_backward");
  mine.events.record(Stage::kOptimize, stream());
}

}  // namespace stipple::cuda
