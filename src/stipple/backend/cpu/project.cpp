// SPDX-License-Identifier: Apache-2.0
// project: turns every Gaussian into a splat, of opacity 0 if culled, a vector of Gaussians at a time.
#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/project.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "stipple/backend/cpu/shared/gaussian-inl.h"

HWY_BEFORE_NAMESPACE();
namespace stipple::cpu {
namespace HWY_NAMESPACE {

// The sum of one Gaussian's SH coefficients, each times its basis function.
HWY_INLINE Vec3f weighted_sum(const float* sh, const float* basis, std::size_t n) {
  if (n % kLanes == 0) {  // the coefficients fill whole vectors
    Vec3<Lanes> sum(Lanes(0), Lanes(0), Lanes(0));
    for (std::size_t k = 0; k < n; k += kLanes) sum = sum + load3(sh + 3 * k) * load(basis + k);
    const D d;
    return {hn::GetLane(hn::SumOfLanes(d, sum.x.v)), hn::GetLane(hn::SumOfLanes(d, sum.y.v)),
            hn::GetLane(hn::SumOfLanes(d, sum.z.v))};
  }
  Vec3f sum(0, 0, 0);
  for (std::size_t k = 0; k < n; ++k) sum = sum + Vec3f(sh[3 * k], sh[3 * k + 1], sh[3 * k + 2]) * basis[k];
  return sum;
}

// Computes the colours of the lanes that are drawn. Each Gaussian's coefficients are contiguous in memory.
void shade(const GaussianGroup& g, int first, const ML::Pinhole& camera, const Vec3<Lanes>& mean,
           ProjectedSplat* out) {
  BasisTable table;
  if (!g.color)
    store_basis(ML::harmonic_basis(g.sh_degree, ML::view_ray(mean, camera).direction),
                static_cast<int>(g.sh_count), table);
  for (int lane = 0; lane < kLanes; ++lane) {
    if (out[lane].splat.opacity == 0) continue;
    Vec3f color;
    if (g.color) {
      const float* c = g.color + 3 * (first + lane);
      color = {c[0], c[1], c[2]};
    } else {
      const float* sh = g.sh + 3 * g.sh_count * (first + lane);
      color = stipple::Math<float>::color_from_harmonics(weighted_sum(sh, table.b[lane], g.sh_count));
    }
    if (!stipple::Math<float>::is_drawable_color(color)) out[lane].splat.opacity = 0;
    out[lane].splat.channels = {color.x, color.y, color.z, out[lane].splat.channels.w};
  }
}

template <bool kAltered>
void project_block_as(const GaussianGroup& g, const stipple::Math<float>::Pinhole& view_camera,
                      const stipple::Math<float>::RenderSettings& view_settings, ProjectedSplat* out) {
  const ML::Pinhole camera = broadcast_camera(view_camera);
  const ML::RenderSettings settings = broadcast_settings(view_settings);
  for (int first = 0; first < kMaxGroup; first += kLanes) {
    const ML::ActiveGaussian in = activate_gaussians<kAltered>(g, first, settings.scale_modifier);
    const ML::Footprint f = ML::footprint(in.placed, in.opacity, camera, settings);
    if (hn::AllFalse(D(), (f.opacity > Lanes(0)).m)) {
      for (int lane = 0; lane < kLanes; ++lane) out[first + lane].splat.opacity = 0;
      continue;
    }
    // One vector per field, in the order of ProjectedSplat's floats.
    const Lanes zero(0);
    const Lanes fields[16] = {f.mean_px.x,
                              f.mean_px.y,
                              f.conic.x,
                              f.conic.y,
                              f.conic.z,
                              f.opacity,
                              zero,
                              zero,
                              zero,
                              ML::depth_channel(f.depth, settings.inverse_depth),
                              f.depth,
                              f.half_extent_px.x,
                              f.half_extent_px.y,
                              ML::log2_of(f.opacity),
                              zero,
                              zero};
    store_transposed(fields, reinterpret_cast<float*>(out + first));
    shade(g, first, camera, in.placed.mean, out + first);
  }
}

void project_block(const GaussianGroup& g, const stipple::Math<float>::Pinhole& camera,
                   const stipple::Math<float>::RenderSettings& settings, ProjectedSplat* out) {
  g.is_altered() ? project_block_as<true>(g, camera, settings, out)
                 : project_block_as<false>(g, camera, settings, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple::cpu {

HWY_EXPORT(project_block);

void CpuBackend::project(const DeviceGaussians& gaussians, const Precomputed& precomputed, const View& view,
                         Pass& pass) {
  start_view(pass);
  GaussianGroups groups(gaussians, precomputed, view);
  Math<float>::Pinhole camera = pinhole(view.camera);
  Math<float>::RenderSettings settings = render_settings(view.options);
  pass.projection.splat.resize(*this, gaussians.size());
  auto splats = host(pass.projection.splat);
  auto project_one = HWY_DYNAMIC_DISPATCH(project_block);
  std::size_t block_count = (groups.size() + kMaxGroup - 1) / kMaxGroup;
  parallel_for(
      block_count,
      [&](std::size_t block) {
        std::size_t first = block * kMaxGroup, left = groups.size() - first;
        GaussianGroups::Padded padded;
        ProjectedSplat padded_out[kMaxGroup];
        project_one(groups.block(first, padded), camera, settings,
                    left < kMaxGroup ? padded_out : &splats[first]);
        if (left < kMaxGroup) std::copy_n(padded_out, left, &splats[first]);
      },
      16);
  cpu_pass(pass).clock.lap(Stage::kProject);
}

}  // namespace stipple::cpu
#endif
