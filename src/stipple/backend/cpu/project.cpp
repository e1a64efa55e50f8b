// SPDX-License-Identifier: Apache-2.0
// project: finds the Gaussians that the view shows and turns them into splats, a vector of Gaussians at a
// time.
//
// How many are shown is only known once the footprint of every Gaussian has been computed. It is then
// computed again for those that are shown, which takes less time than to keep it.
#include <bit>

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

struct PlacedFootprint {
  Vec3<Lanes> mean;
  ML::Footprint footprint;
};

// Not inlined, so that both callers get the same bits: which Gaussians are shown must not depend on how the
// compiler rounds.
template <bool kAltered>
HWY_NOINLINE PlacedFootprint footprint_of(const GaussianGroup& g, int first, const ML::Pinhole& camera,
                                          const ML::RenderSettings& settings) {
  const ML::ActiveGaussian in = activate_gaussians<kAltered>(g, first, settings.scale_modifier);
  return {in.placed.mean, ML::footprint(in.placed, in.opacity, camera, settings)};
}

template <bool kAltered>
std::uint32_t find_visible_as(const GaussianGroup& g, const ML::Pinhole& camera,
                              const ML::RenderSettings& settings) {
  std::uint32_t mask = 0;
  for (int first = 0; first < kMaxGroup; first += kLanes) {
    const Lanes opacity = footprint_of<kAltered>(g, first, camera, settings).footprint.opacity;
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(D(), (opacity > Lanes(0)).m, bytes);
    const std::uint32_t bits = bytes[0] | std::uint32_t{bytes[1]} << 8;
    mask |= (bits & ((1u << kLanes) - 1)) << first;
  }
  return mask;
}

// One bit for every Gaussian of the group that is shown.
std::uint32_t find_visible(const GaussianGroup& g, const stipple::Math<float>::Pinhole& view_camera,
                           const stipple::Math<float>::RenderSettings& view_settings) {
  const ML::Pinhole camera = broadcast_camera(view_camera);
  const ML::RenderSettings settings = broadcast_settings(view_settings);
  return g.is_altered() ? find_visible_as<true>(g, camera, settings)
                        : find_visible_as<false>(g, camera, settings);
}

template <bool kAltered>
void project_block_as(const GaussianGroup& g, const stipple::Math<float>::Pinhole& view_camera,
                      const stipple::Math<float>::RenderSettings& view_settings, ProjectedSplat* out) {
  const ML::Pinhole camera = broadcast_camera(view_camera);
  const ML::RenderSettings settings = broadcast_settings(view_settings);
  for (int first = 0; first < kMaxGroup; first += kLanes) {
    const auto [mean, f] = footprint_of<kAltered>(g, first, camera, settings);
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
    shade(g, first, camera, mean, out + first);
  }
}

// Gaussians that are not shown get splats of opacity 0.
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

HWY_EXPORT(find_visible);
HWY_EXPORT(project_block);

namespace {

constexpr std::size_t kGroupsOfBlock = VisibleBlock::kGaussians / kMaxGroup, kGrain = 8;
constexpr std::uint32_t kWholeGroup = (1u << kMaxGroup) - 1;

// The bits of the Gaussians from `first` on, of a group that ends behind the model.
std::uint32_t bits_within(std::size_t first, std::size_t count) {
  return first + kMaxGroup <= count ? kWholeGroup : (1u << (count - first)) - 1;
}

}  // namespace

void CpuBackend::project(const DeviceGaussians& gaussians, const Precomputed& precomputed, const View& view,
                         Pass& pass) {
  start_view(pass);
  const GaussianGroups groups(gaussians, precomputed, view);
  const Math<float>::Pinhole camera = pinhole(view.camera);
  const Math<float>::RenderSettings settings = render_settings(view.options);
  pass.projection.visible.resize(*this, visible_block_count(groups.size()));
  const auto visible = host(pass.projection.visible);
  const auto for_each_group = [&](std::size_t block, auto use) {
    for (std::size_t k = 0; k < kGroupsOfBlock; ++k) {
      const std::size_t first = block * VisibleBlock::kGaussians + k * kMaxGroup;
      if (first < groups.size()) use(first, static_cast<unsigned>(k) * kMaxGroup);
    }
  };
  const auto find_in_group = HWY_DYNAMIC_DISPATCH(find_visible);
  parallel_for(
      visible.size(),
      [&](std::size_t block) {
        std::uint32_t mask = 0;
        for_each_group(block, [&](std::size_t first, unsigned shift) {
          GaussianGroups::Padded padded;
          mask |= (find_in_group(groups.block(first, padded), camera, settings) &
                   bits_within(first, groups.size()))
                  << shift;
        });
        visible[block].mask = mask;
      },
      kGrain);
  std::size_t row_count = 0;
  for (VisibleBlock& block : visible) {
    block.first_row = static_cast<std::uint32_t>(row_count);
    row_count = block.end_row();
  }

  pass.projection.splat.resize(*this, row_count);
  const auto splats = host(pass.projection.splat);
  const auto project_group = HWY_DYNAMIC_DISPATCH(project_block);
  parallel_for(
      visible.size(),
      [&](std::size_t block) {
        ProjectedSplat* out = splats.data() + visible[block].first_row;
        for_each_group(block, [&](std::size_t first, unsigned shift) {
          const std::uint32_t mask = visible[block].mask >> shift & kWholeGroup;
          if (mask == 0) return;
          GaussianGroups::Padded padded;
          ProjectedSplat group[kMaxGroup];
          const bool is_whole = mask == kWholeGroup;
          project_group(groups.block(first, padded), camera, settings, is_whole ? out : group);
          for (std::uint32_t left = is_whole ? 0 : mask; left != 0; left &= left - 1)
            *out++ = group[std::countr_zero(left)];
          if (is_whole) out += kMaxGroup;
        });
      },
      kGrain);
  cpu_pass(pass).clock.lap(Stage::kProject);
}

}  // namespace stipple::cpu
#endif
