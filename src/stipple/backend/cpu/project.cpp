// SPDX-License-Identifier: Apache-2.0
// project: every Gaussian to a splat on the screen, or to opacity 0.
#include <cmath>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/backend/cpu/gaussian_access.h"
#include "stipple/core/parallel.h"

namespace stipple {

namespace {

using M = Math<float>;

void project_one(const GaussianReader& gaussians, const M::Pinhole& camera, const M::RenderSettings& settings,
                 std::size_t i, ProjectedSplat& out) {
  M::Placed placed = gaussians.placed(i, settings.scale_modifier);
  M::Footprint f = M::footprint(placed, gaussians.opacity(i), camera, settings);
  out.splat.opacity = 0;
  if (f.opacity == 0) return;
  Vec3f color = gaussians.color(i, camera);
  if (!M::is_drawable_color(color)) return;
  out.splat.mean_px = f.mean_px;
  out.splat.conic = f.conic;
  out.splat.opacity = f.opacity;
  out.splat.channels = {color.x, color.y, color.z, M::depth_channel(f.depth, settings.inverse_depth)};
  out.depth = f.depth;
  out.half_extent_px = f.half_extent_px;
  out.log2_opacity = std::log2(f.opacity);
}

}  // namespace

void CpuBackend::project(const DeviceGaussians& gaussians, const Precomputed& precomputed, const View& view,
                         Projection& out) {
  GaussianReader reader(gaussians, precomputed);
  M::Pinhole camera = pinhole(view.camera);
  M::RenderSettings settings = render_settings(view.options);
  out.splat.resize(*this, gaussians.size());
  auto splats = host(out.splat);
  parallel_for(
      gaussians.size(), [&](std::size_t i) { project_one(reader, camera, settings, i, splats[i]); }, 256);
}

}  // namespace stipple
