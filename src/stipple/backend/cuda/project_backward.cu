// SPDX-License-Identifier: Apache-2.0
// project_backward: the splats' gradients to the stored parameters, and to the camera when asked for; one
// thread a Gaussian.
#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/gaussian_backward.cuh"
#include "stipple/backend/render_settings.h"

namespace stipple {

namespace {

constexpr int kThreads = 128;
constexpr int kCameraFields = 16;  // rotation, translation, focal lengths, principal point

struct GradientPointers {
  Vec3f *mean, *log_scale;
  float4* rotation;
  float* logit_opacity;
  float* sh;
  Vec3f* color;
  PackedCovariance* covariance;
  double* camera;  // kCameraFields a block, or null
};

// The block's sum of one Gaussian's share in the camera's gradient a thread.
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

template <int kDegree>
__global__ void __launch_bounds__(kThreads)
    project_backward_kernel(GaussianPointers g, M::Pinhole camera, M::RenderSettings settings,
                            const ProjectedSplat* splats, const Splat* dL_dsplat, GradientPointers out) {
  __shared__ CoefficientRows<kDegree> all_rows[kThreads / kWarp];
  __shared__ CoefficientGradients<kDegree> all_gradients[kThreads / kWarp];
  CoefficientRows<kDegree>& rows = all_rows[threadIdx.x / kWarp];
  CoefficientGradients<kDegree>& coefficients = all_gradients[threadIdx.x / kWarp];
  const unsigned i = blockIdx.x * kThreads + threadIdx.x;
  const std::size_t first = i - lane_index();
  const SeenSplat seen = i < g.count ? load_seen(splats, i) : SeenSplat();
  const bool is_drawn = seen.opacity > 0;
  if (!g.color) rows.load(g.sh + first * rows.kFloats, __ballot_sync(kAllLanes, is_drawn));
  GaussianGradient d;
  M::HarmonicBasis basis;
  M::Pinhole dL_dcamera = no_camera();
  if (is_drawn)
    d = gaussian_backward<kDegree>(g, load_gaussian(g, i, settings.scale_modifier), camera, settings, seen,
                                   load_splat_gradient(dL_dsplat, i), rows, basis,
                                   out.camera ? &dL_dcamera : nullptr);
  coefficients.store(basis, d.sh_sum, is_drawn && !g.color);
  for (int k = 0; k < rows.kFloats; ++k) {
    const int at = k * kWarp + lane_index(), row = at / rows.kFloats;
    if (first + row < g.count) out.sh[first * rows.kFloats + at] = coefficients(row, at % rows.kFloats);
  }
  if (i < g.count) {
    const M::StoredGaussian& s = d.stored;
    out.mean[i] = s.mean;
    out.log_scale[i] = s.log_scale;
    out.rotation[i] = make_float4(s.rotation.x, s.rotation.y, s.rotation.z, s.rotation.w);
    out.logit_opacity[i] = s.logit_opacity;
    if (out.color) out.color[i] = d.color;
    if (out.covariance) out.covariance[i] = s.covariance;
  }
  if (out.camera) add_camera(dL_dcamera, out.camera + std::size_t{blockIdx.x} * kCameraFields);
}

CameraGradient camera_gradient(const std::vector<double>& block_sums) {
  double sum[kCameraFields] = {};
  for (std::size_t i = 0; i < block_sums.size(); ++i) sum[i % kCameraFields] += block_sums[i];
  const auto f = [&](int i) { return static_cast<float>(sum[i]); };
  CameraGradient g;
  g.camera_from_world.rotation = Mat3f(f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8));
  g.camera_from_world.translation = Vec3f(f(9), f(10), f(11));
  g.focal_px = Vec2f(f(12), f(13));
  g.center_px = Vec2f(f(14), f(15));
  return g;
}

}  // namespace

void CudaBackend::project_backward(const DeviceGaussians& gaussians, const Precomputed& precomputed,
                                   const View& view, const Projection& projection,
                                   const SplatGradient& dL_dsplat, DeviceGaussians& dL_dgaussians,
                                   Precomputed& dL_dprecomputed, CameraGradient* dL_dcamera) {
  const std::size_t count = gaussians.size();
  dL_dgaussians.sh_degree = gaussians.sh_degree;
  for_each_parameter([&](int, auto& to, const auto& like) { to.resize(*this, like.size()); }, dL_dgaussians,
                     gaussians);
  dL_dprecomputed.color.resize(*this, precomputed.color.size());
  dL_dprecomputed.covariance.resize(*this, precomputed.covariance.size());
  if (dL_dcamera) *dL_dcamera = CameraGradient();
  if (count == 0) return;
  const unsigned blocks = blocks_for(count, kThreads);
  DeviceArray<double> camera_sums;
  if (dL_dcamera) camera_sums.resize(*this, std::size_t{blocks} * kCameraFields);
  const GradientPointers out{pointer(dL_dgaussians.mean),
                             pointer(dL_dgaussians.log_scale),
                             reinterpret_cast<float4*>(pointer(dL_dgaussians.rotation)),
                             pointer(dL_dgaussians.logit_opacity),
                             reinterpret_cast<float*>(pointer(dL_dgaussians.sh)),
                             pointer(dL_dprecomputed.color),
                             pointer(dL_dprecomputed.covariance),
                             pointer(camera_sums)};
  with_degree(gaussians.sh_degree, [&](auto degree) {
    project_backward_kernel<degree()><<<blocks, kThreads, 0, stream()>>>(
        pointers(gaussians, precomputed), pinhole(view.camera), render_settings(view.options),
        pointer(projection.splat), pointer(dL_dsplat.splat), out);
  });
  check(cudaGetLastError(), "start project_backward");
  if (dL_dcamera) *dL_dcamera = camera_gradient(camera_sums.download(*this));
}

}  // namespace stipple
