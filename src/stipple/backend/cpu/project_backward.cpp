// SPDX-License-Identifier: Apache-2.0
// project_backward: the splats' gradients to the stored parameters, and to the camera when asked for.
#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/backend/cpu/gaussian_access.h"
#include "stipple/core/parallel.h"

namespace stipple {

namespace {

using M = Math<float>;

// Gaussians per sum of the camera's gradient: fixed, so that the result does not depend on the threads.
constexpr std::size_t kChunk = 4096;

struct Outputs {
  std::span<Vec3f> mean, log_scale;
  std::span<Vec4f> rotation;
  std::span<float> logit_opacity;
  std::span<Vec3f> sh, color;
  std::span<PackedCovariance> covariance;
};

void write_zero(const Outputs& out, std::size_t i, std::size_t sh_count) {
  out.mean[i] = {0, 0, 0};
  out.log_scale[i] = {0, 0, 0};
  out.rotation[i] = {0, 0, 0, 0};
  out.logit_opacity[i] = 0;
  for (std::size_t k = i * sh_count; k < (i + 1) * sh_count; ++k) out.sh[k] = {0, 0, 0};
  if (!out.color.empty()) out.color[i] = {0, 0, 0};
  if (!out.covariance.empty()) out.covariance[i] = {0, 0, 0, 0, 0, 0};
}

// Colour to coefficients; returns the gradient of the offset from the camera's centre.
Vec3f color_backward(const GaussianReader& gaussians, const M::Pinhole& camera, std::size_t i,
                     Vec3f dL_dcolor, const Outputs& out) {
  std::size_t n = gaussians.sh_count();
  if (gaussians.has_color()) {
    out.color[i] = dL_dcolor;
    for (std::size_t k = 0; k < n; ++k) out.sh[i * n + k] = {0, 0, 0};
    return {0, 0, 0};
  }
  Vec3f offset = M::view_offset(gaussians.mean(i), camera);
  Vec3f direction = M::view_direction(offset);
  M::HarmonicBasis basis = M::harmonic_basis(gaussians.sh_degree(), direction);
  Vec3f dL_dsum = M::color_from_harmonics_vjp(gaussians.sh_sum(i, basis), dL_dcolor);
  M::HarmonicBasis dL_dbasis;
  const Vec3f* sh = gaussians.sh(i);
  for (std::size_t k = 0; k < n; ++k) {
    out.sh[i * n + k] = dL_dsum * basis.b[k];
    dL_dbasis.b[k] = dot(sh[k], dL_dsum);
  }
  return M::view_direction_vjp(offset, M::harmonic_basis_vjp(gaussians.sh_degree(), direction, dL_dbasis));
}

void add(CameraGradient& sum, const M::Pinhole& d) {
  sum.camera_from_world.rotation = sum.camera_from_world.rotation + d.rotation;
  sum.camera_from_world.translation = sum.camera_from_world.translation + d.translation;
  sum.focal_px = sum.focal_px + d.focal_px;
  sum.center_px = sum.center_px + d.center_px;
}

void project_backward_one(const GaussianReader& gaussians, const M::Pinhole& camera,
                          const M::RenderSettings& settings, std::size_t i, const ProjectedSplat& p,
                          const Splat& dL_dsplat, const Outputs& out, CameraGradient* dL_dcamera) {
  M::Shape shape = gaussians.shape(i, settings.scale_modifier);
  M::Placed placed = gaussians.placed(i, settings.scale_modifier);
  float opacity = gaussians.opacity(i);
  Vec4f c = dL_dsplat.channels;
  M::Footprint dL_dfootprint{dL_dsplat.mean_px,
                             dL_dsplat.conic,
                             dL_dsplat.opacity,
                             M::depth_channel_vjp(p.depth, settings.inverse_depth, c.w),
                             {0, 0}};
  M::FootprintVjp d = M::footprint_vjp(placed, opacity, camera, settings, dL_dfootprint);
  M::Placed dL_dplaced = M::project_vjp(placed, camera, d.dL_dprojected);
  Vec3f dL_doffset = color_backward(gaussians, camera, i, {c.x, c.y, c.z}, out);

  out.mean[i] = dL_dplaced.mean + dL_doffset;
  out.logit_opacity[i] = M::sigmoid_vjp(opacity, d.dL_dopacity);
  if (gaussians.has_covariance()) {
    out.covariance[i] = M::unpack_covariance_vjp(dL_dplaced.covariance);
    out.log_scale[i] = {0, 0, 0};
    out.rotation[i] = {0, 0, 0, 0};
  } else {
    M::Shape dL_dshape = M::covariance_vjp(shape, dL_dplaced.covariance);
    out.log_scale[i] = M::scale_from_log_vjp(shape.scale, dL_dshape.scale);
    out.rotation[i] = dL_dshape.rotation;
  }
  if (dL_dcamera) {
    add(*dL_dcamera, M::project_camera_vjp(placed, camera, d.dL_dprojected));
    add(*dL_dcamera, M::view_offset_camera_vjp(camera, dL_doffset));
  }
}

}  // namespace

void CpuBackend::project_backward(const DeviceGaussians& gaussians, const Precomputed& precomputed,
                                  const View& view, const Projection& projection,
                                  const SplatGradient& dL_dsplat, DeviceGaussians& dL_dgaussians,
                                  Precomputed& dL_dprecomputed, CameraGradient* dL_dcamera) {
  GaussianReader reader(gaussians, precomputed);
  M::Pinhole camera = pinhole(view.camera);
  M::RenderSettings settings = render_settings(view.options);
  dL_dgaussians.sh_degree = gaussians.sh_degree;
  for_each_parameter([&](int, auto& to, const auto& like) { to.resize(*this, like.size()); }, dL_dgaussians,
                     gaussians);
  dL_dprecomputed.color.resize(*this, precomputed.color.size());
  dL_dprecomputed.covariance.resize(*this, precomputed.covariance.size());
  Outputs out{host(dL_dgaussians.mean),          host(dL_dgaussians.log_scale), host(dL_dgaussians.rotation),
              host(dL_dgaussians.logit_opacity), host(dL_dgaussians.sh),        host(dL_dprecomputed.color),
              host(dL_dprecomputed.covariance)};
  auto splats = host(projection.splat);
  auto gradients = host(dL_dsplat.splat);

  std::size_t count = gaussians.size();
  std::vector<CameraGradient> camera_sums(dL_dcamera ? (count + kChunk - 1) / kChunk : 0);
  parallel_for((count + kChunk - 1) / kChunk, [&](std::size_t chunk) {
    CameraGradient* sum = dL_dcamera ? &camera_sums[chunk] : nullptr;
    for (std::size_t i = chunk * kChunk; i < std::min(count, (chunk + 1) * kChunk); ++i) {
      if (splats[i].splat.opacity == 0)
        write_zero(out, i, reader.sh_count());
      else
        project_backward_one(reader, camera, settings, i, splats[i], gradients[i], out, sum);
    }
  });
  if (!dL_dcamera) return;
  *dL_dcamera = {};
  for (const CameraGradient& g : camera_sums) {
    M::Pinhole p{
        g.camera_from_world.rotation, g.camera_from_world.translation, g.focal_px, g.center_px, {0, 0}};
    add(*dL_dcamera, p);
  }
}

}  // namespace stipple
