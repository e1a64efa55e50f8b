// SPDX-License-Identifier: Apache-2.0
// blend: blends the splats of each tile into its pixels, nearest first, up to a row of 16 pixels per vector.
#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/backend/cpu/shared/channel_group.h"
#include "stipple/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/blend.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "stipple/backend/cpu/shared/tile-inl.h"

#ifndef STIPPLE_BLEND_ONCE
#define STIPPLE_BLEND_ONCE
namespace stipple::cpu {
struct alignas(64) BlendTile {
  float transmittance[kTilePixels];
  float channel[4][kTilePixels];  // red, green, blue, depth
};
}  // namespace stipple::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace stipple::cpu {
namespace HWY_NAMESPACE {

// Blends a splat into one group of columns of a pair of rows; `at` is the index of the first pixel.
template <int kChannels>
HWY_INLINE void blend_rows(D d, const TileConstants& constants, const ColumnTerms& terms,
                           const TileSplat<kChannels>& s, V dy, int at, BlendTile& tile) {
  float *upper = tile.transmittance + at, *lower = upper + kTile;
  const Candidate a = candidate(d, constants, terms, s.c, dy, upper);
  const Candidate b = candidate(d, constants, terms, s.c, hn::Add(dy, constants.one), lower);
  if (hn::AllFalse(d, hn::Or(a.drawn, b.drawn))) return;
  const V weight_a = contribute(d, constants, a, s.max_exponent, upper).weight;
  const V weight_b = contribute(d, constants, b, s.max_exponent, lower).weight;
  for (int k = 0; k < kChannels; ++k) {
    float* channel = tile.channel[k] + at;
    hn::Store(hn::MulAdd(weight_a, s.color[k], hn::Load(d, channel)), d, channel);
    hn::Store(hn::MulAdd(weight_b, s.color[k], hn::Load(d, channel + kTile)), d, channel + kTile);
  }
}

// If kGiven, `given` holds four values per splat to blend instead of the splats' own channels.
template <int kChannels, bool kGiven>
void blend_tile(std::span<const ProjectedSplat> splats, const float* given,
                std::span<const std::uint32_t> slots, const TilePlace& place, float max_alpha,
                BlendTile& tile) {
  const D d;
  const float log2_alpha_max = std::log2(max_alpha);
  const TileConstants constants(d);
  const ColumnCenters columns(d, place.x);
  std::uint32_t live = live_rows(d, tile.transmittance);
  for (std::size_t k = 0; k < slots.size(); ++k) {
    if (k % kLiveCheckInterval == 0 && k > 0) live = live_rows(d, tile.transmittance);
    if (live == 0) break;
    if (k + kPrefetchDistance < slots.size()) hwy::Prefetch(&splats[slots[k + kPrefetchDistance]]);
    const ProjectedSplat& p = splats[slots[k]];
    const TileSplat<kChannels> s(d, p, channels_of<kGiven>(p, given, slots[k]), place, live, log2_alpha_max);
    for (int x = 0; x < kTile; x += kLanes) {
      const ColumnTerms terms = column_terms(d, s.folded, columns.px[x / kLanes]);
      for (std::uint32_t left = s.pairs; left != 0; left &= left - 1) {
        const int row = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(left));
        blend_rows(d, constants, terms, s, row_dy(d, s.first_dy, row), kTile * row + x, tile);
      }
    }
  }
}

void blend_tile_dispatch(bool with_fourth, std::span<const ProjectedSplat> splats, const float* channels,
                         std::span<const std::uint32_t> slots, const TilePlace& place, float alpha_max,
                         BlendTile& tile) {
  if (channels) return blend_tile<4, true>(splats, channels, slots, place, alpha_max, tile);
  if (with_fourth) return blend_tile<4, false>(splats, channels, slots, place, alpha_max, tile);
  blend_tile<3, false>(splats, channels, slots, place, alpha_max, tile);
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple::cpu {

HWY_EXPORT(blend_tile_dispatch);

namespace {

void store_tile(const BlendTile& tile, const TilePlace& place, const View& view, Frame& frame) {
  auto color = host(frame.color), transmittance = host(frame.transmittance), depth = host(frame.depth);
  std::size_t plane = transmittance.size();
  for (int y = 0; y < place.height; ++y) {
    std::size_t at = static_cast<std::size_t>(place.y + y) * frame.width_px + place.x;
    float t[kTile];
    for (int x = 0; x < kTile; ++x) t[x] = std::abs(tile.transmittance[kTile * y + x]);
    std::copy_n(t, place.width, &transmittance[at]);
    for (int k = 0; k < 3; ++k) {
      float* to = &color[k * plane + at];
      const float* from = tile.channel[k] + kTile * y;
      const float background = view.options.background[k];
      for (int x = 0; x < place.width; ++x) to[x] = from[x] + t[x] * background;
    }
    if (!depth.empty()) std::copy_n(tile.channel[3] + kTile * y, place.width, &depth[at]);
  }
}

// Blends every tile and calls store(tile, place) for it, on any thread.
template <class Store>
void blend_tiles(const Pass& pass, const View& view, const float* channels, int channel_count, Store store) {
  auto splats = host(pass.projection.splat);
  auto slots = host(pass.bins.splat_from_slot);
  auto slot_begin = host(pass.bins.slot_begin_from_tile);
  auto blend_one = HWY_DYNAMIC_DISPATCH(blend_tile_dispatch);
  parallel_for(slot_begin.size() - 1, [&](std::size_t t) {
    TilePlace place(pass.bins, view.camera, t);
    BlendTile tile;
    start_transmittance(place, tile.transmittance);
    std::fill_n(tile.channel[0], channel_count * kTilePixels, 0.0f);
    blend_one(channel_count == 4, splats, channels,
              slots.subspan(slot_begin[t], slot_begin[t + 1] - slot_begin[t]), place, view.options.alpha_max,
              tile);
    store(tile, place);
  });
}

}  // namespace

void CpuBackend::blend(const View& view, Pass& pass) {
  Frame& out = pass.frame;
  out.width_px = view.camera.width_px;
  out.height_px = view.camera.height_px;
  std::size_t pixel_count = static_cast<std::size_t>(out.width_px) * out.height_px;
  bool with_depth = view.options.depth != DepthOutput::kNone;
  out.color.resize(*this, 3 * pixel_count);
  out.transmittance.resize(*this, pixel_count);
  out.depth.resize(*this, with_depth ? pixel_count : 0);
  blend_tiles(pass, view, nullptr, with_depth ? 4 : 3,
              [&](const BlendTile& tile, const TilePlace& place) { store_tile(tile, place, view, out); });
  cpu_pass(pass).clock.lap(Stage::kBlend);
}

void CpuBackend::blend_channels(const View& view, const Channels& channels, Pass& pass,
                                DeviceArray<float>& planes) {
  const std::size_t width = static_cast<std::size_t>(pass.frame.width_px),
                    plane = width * static_cast<std::size_t>(pass.frame.height_px);
  planes.resize(*this, plane * static_cast<std::size_t>(channels.count));
  const std::vector<std::uint32_t> gaussians = gaussians_of_rows(host(pass.projection.visible));
  for (int first = 0; first < channels.count; first += kChannelGroup) {
    const int count = std::min(kChannelGroup, channels.count - first);
    const float* group = load_channel_group(*this, channels, gaussians, first, cpu_pass(pass).channel_group);
    float* out = host(planes).data() + static_cast<std::size_t>(first) * plane;
    blend_tiles(pass, view, group, kChannelGroup, [&](const BlendTile& tile, const TilePlace& place) {
      for (int k = 0; k < count; ++k)
        for (int y = 0; y < place.height; ++y)
          std::copy_n(tile.channel[k] + kTile * y, place.width,
                      out + static_cast<std::size_t>(k) * plane +
                          static_cast<std::size_t>(place.y + y) * width + static_cast<std::size_t>(place.x));
    });
  }
  cpu_pass(pass).clock.lap(Stage::kBlend);
}

}  // namespace stipple::cpu
#endif
