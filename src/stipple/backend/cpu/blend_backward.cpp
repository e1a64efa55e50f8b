// SPDX-License-Identifier: Apache-2.0
// blend_backward: the picture's gradient to every splat's.
//
// Each tile is walked front to back again. With p = channels . dL_dchannels + dL_dalpha of a splat at a
// pixel, and S = what lies behind it dotted with the gradients (the picture's own dot product at first, minus
// p alpha T from then on), dL_dalpha = p T - S / (1 - alpha). Of q = alpha dL_dalpha only the moments of
// math/blending.glsl are kept: the conic is multiplied in once per Gaussian. A (splat, tile) pair writes its
// sums to the pair's own place, its emission, and every Gaussian then adds up its own run: no two threads
// ever add into the same number, and the order of additions is fixed.
#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/blend_backward.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "stipple/backend/cpu/tile-inl.h"

#ifndef STIPPLE_BLEND_BACKWARD_ONCE
#define STIPPLE_BLEND_BACKWARD_ONCE
namespace stipple {

constexpr int kPartialSize = 16;  // floats: a cache line
// Where the sums lie in it: in the order in which store_lane_sums() below brings them out.
enum PartialField {
  kRed = 0,
  kGreen = 8,
  kBlue = 4,
  kDepth = 9,
  kM0 = 12,
  kMx = 2,
  kMy = 10,
  kMxx = 6,
  kMxy = 14,
  kMyy = 1,
  kAbsoluteX = 5,
  kAbsoluteY = 13
};

// Loads whose addresses agree with a recent store's in the last 12 bits are taken for loads of what it
// stored, and wait: the gap keeps every array that is read eight rows away, in that sense, from the two that
// are written.
struct alignas(4096) BackwardTile {
  float transmittance[kTilePixels];
  float behind[kTilePixels];  // S
  float gap[kTilePixels / 2];
  float dL_dchannel[4][kTilePixels];  // red, green, blue, depth
  float dL_dalpha[kTilePixels];
};

struct BackwardKind {  // which gradients there are, and which are wanted
  bool depth, alpha, absolute;
};

struct TileSlots {  // what a tile draws, nearest first
  std::span<const std::uint32_t> gaussian, emission;
};

struct BackwardOutput {
  std::span<float> partial;
  std::span<std::uint8_t> is_written;
};

}  // namespace stipple
#endif

HWY_BEFORE_NAMESPACE();
namespace stipple {
namespace HWY_NAMESPACE {

struct RowSums {  // over rows, column by column
  V channel[4], q, qy, qyy;
  V absolute_x, absolute_y;  // only when wanted
};

// conic * (dx, dy) = (xx_dx + xy dy, xy_dx + yy dy) is how a pixel's q enters dL_dmean_px.
struct MeanTerms {
  V xx_dx, xy_dx, xy, yy;

  HWY_INLINE MeanTerms(D d, const ProjectedSplat& p, V dx)
      : xx_dx(hn::Mul(hn::Set(d, p.splat.conic.x), dx)),
        xy_dx(hn::Mul(hn::Set(d, p.splat.conic.y), dx)),
        xy(hn::Set(d, p.splat.conic.y)),
        yy(hn::Set(d, p.splat.conic.z)) {}
};

// 1 / x for x in [0.001, 1], to nearly full precision.
HWY_INLINE V reciprocal(const TileConstants& k, V x) {
#if HWY_TARGET <= HWY_AVX3
  const V r = hn::ApproximateReciprocal(x);  // 14 bits; one step of Newton's method doubles them
  return hn::Mul(r, hn::NegMulAdd(x, r, hn::Add(k.one, k.one)));
#else
  return hn::Div(k.one, x);
#endif
}

// One row's share of the splat's sums.
template <int kChannels, bool kAlpha, bool kAbsolute>
HWY_INLINE void backward_row(D d, const TileConstants& constants, const Candidate& here,
                             const MeanTerms& mean, const TileSplat<kChannels>& s, V dy, V log2_alpha_max,
                             int at, BackwardTile& tile, RowSums& sums) {
  const Contribution c = contribute(d, constants, here, s.max_exponent, tile.transmittance + at);
  V p = kAlpha ? hn::Load(d, tile.dL_dalpha + at) : hn::Zero(d);
  for (int k = 0; k < kChannels; ++k) {
    const V g = hn::Load(d, tile.dL_dchannel[k] + at);
    p = hn::MulAdd(s.color[k], g, p);
    sums.channel[k] = hn::MulAdd(c.weight, g, sums.channel[k]);
  }
  const V behind = hn::NegMulAdd(c.weight, p, hn::Load(d, tile.behind + at));
  hn::Store(behind, d, tile.behind + at);
  const V dL_dalpha =
      hn::MulSub(here.front, p, hn::Mul(behind, reciprocal(constants, hn::Sub(constants.one, c.alpha))));
  // Where it is not drawn the weight is 0; a clamped alpha is a constant.
  const auto varies = hn::And(hn::Gt(c.weight, constants.zero), hn::Lt(here.y, log2_alpha_max));
  const V q = hn::IfThenElseZero(varies, hn::Mul(c.alpha, dL_dalpha));
  const V qy = hn::Mul(q, dy);
  sums.q = hn::Add(sums.q, q);
  sums.qy = hn::Add(sums.qy, qy);
  sums.qyy = hn::MulAdd(qy, dy, sums.qyy);
  if (!kAbsolute) return;
  const V x = hn::Mul(q, hn::MulAdd(mean.xy, dy, mean.xx_dx));
  const V y = hn::Mul(q, hn::MulAdd(mean.yy, dy, mean.xy_dx));
  sums.absolute_x = hn::Add(sums.absolute_x, hn::Abs(x));
  sums.absolute_y = hn::Add(sums.absolute_y, hn::Abs(y));
}

// A pair of rows; false when the splat is drawn in neither.
template <int kChannels, bool kAlpha, bool kAbsolute>
HWY_INLINE bool backward_rows(D d, const TileConstants& constants, const ColumnTerms& terms,
                              const MeanTerms& mean, const TileSplat<kChannels>& s, V dy, V log2_alpha_max,
                              int at, BackwardTile& tile, RowSums& sums) {
  const V next_dy = hn::Add(dy, constants.one);
  const Candidate a = candidate(d, constants, terms, s.c, dy, tile.transmittance + at);
  const Candidate b = candidate(d, constants, terms, s.c, next_dy, tile.transmittance + at + kTile);
  const bool in_a = !hn::AllFalse(d, a.drawn), in_b = !hn::AllFalse(d, b.drawn);
  if (in_a)
    backward_row<kChannels, kAlpha, kAbsolute>(d, constants, a, mean, s, dy, log2_alpha_max, at, tile, sums);
  if (in_b)
    backward_row<kChannels, kAlpha, kAbsolute>(d, constants, b, mean, s, next_dy, log2_alpha_max, at + kTile,
                                               tile, sums);
  return in_a || in_b;
}

#if HWY_MAX_BYTES >= 16
using D4 = hn::CappedTag<float, 4>;
using V4 = hn::Vec<D4>;

template <class DN>
HWY_INLINE V4 fold_to_4(DN d, hn::Vec<DN> v) {
  if constexpr (hn::MaxLanes(d) <= 4) {
    return v;
  } else {
    const hn::Half<DN> half;
    return fold_to_4(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// The sums over the lanes of four vectors, as the four lanes of one.
HWY_INLINE V4 sums_of_4(D4 d, V4 a, V4 b, V4 c, V4 e) {
  const V4 ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const V4 ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  return hn::Add(hn::ConcatLowerLower(d, ce, ab), hn::ConcatUpperUpper(d, ce, ab));
}
#endif

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
// Each step adds up halves of two vectors' parts and puts the results into one, so that 16 lanes take four
// steps.
HWY_INLINE V merge_halves(D d, V a, V b) {
  return hn::Add(hn::ConcatLowerLower(d, b, a), hn::ConcatUpperUpper(d, b, a));
}
HWY_INLINE V merge_blocks(V a, V b) {
  return hn::Add(hn::OddEvenBlocks(b, a), hn::SwapAdjacentBlocks(hn::OddEvenBlocks(a, b)));
}
HWY_INLINE V merge_pairs(D d, V a, V b) {
  const hn::Repartition<std::uint64_t, D> d64;
  const auto a64 = hn::BitCast(d64, a), b64 = hn::BitCast(d64, b);
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(d64, a64, b64)),
                 hn::BitCast(d, hn::InterleaveUpper(d64, a64, b64)));
}
HWY_INLINE V merge_lanes(V a, V b) { return hn::Add(hn::OddEven(b, a), hn::Shuffle2301(hn::OddEven(a, b))); }
#endif

// The sum of each field over its lanes.
HWY_INLINE void store_lane_sums(D d, const V* field, float* out) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  const V zero = hn::Zero(d);
  const V color =
      merge_blocks(merge_halves(d, field[kRed], field[kGreen]), merge_halves(d, field[kBlue], field[kM0]));
  const V moments =
      merge_blocks(merge_halves(d, field[kMx], field[kMy]), merge_halves(d, field[kMxx], field[kMxy]));
  const V others = merge_blocks(merge_halves(d, field[kMyy], field[kDepth]),
                                merge_halves(d, field[kAbsoluteX], field[kAbsoluteY]));
  hn::Store(merge_lanes(merge_pairs(d, color, moments), merge_pairs(d, others, zero)), d, out);
#elif HWY_MAX_BYTES >= 16
  const D4 d4;
  for (int i = 0; i < kPartialSize; i += 4)
    hn::StoreU(sums_of_4(d4, fold_to_4(d, field[i]), fold_to_4(d, field[i + 1]), fold_to_4(d, field[i + 2]),
                         fold_to_4(d, field[i + 3])),
               d4, out + i);
#else
  for (int i = 0; i < kPartialSize; ++i) out[i] = hn::GetLane(hn::SumOfLanes(d, field[i]));
#endif
}

// Adds a group of columns to the splat's sums: columns share dx, so the moments in x are formed here, once.
template <int kChannels, bool kAbsolute>
HWY_INLINE void add_columns(D d, const RowSums& s, V dx, V* field) {
  (void)d;
  field[kRed] = hn::Add(field[kRed], s.channel[0]);
  field[kGreen] = hn::Add(field[kGreen], s.channel[1]);
  field[kBlue] = hn::Add(field[kBlue], s.channel[2]);
  if (kChannels == 4) field[kDepth] = hn::Add(field[kDepth], s.channel[3]);
  const V qx = hn::Mul(s.q, dx);
  field[kM0] = hn::Add(field[kM0], s.q);
  field[kMx] = hn::Add(field[kMx], qx);
  field[kMy] = hn::Add(field[kMy], s.qy);
  field[kMxx] = hn::MulAdd(qx, dx, field[kMxx]);
  field[kMxy] = hn::MulAdd(s.qy, dx, field[kMxy]);
  field[kMyy] = hn::Add(field[kMyy], s.qyy);
  if (!kAbsolute) return;
  field[kAbsoluteX] = hn::Add(field[kAbsoluteX], s.absolute_x);
  field[kAbsoluteY] = hn::Add(field[kAbsoluteY], s.absolute_y);
}

template <int kChannels, bool kAlpha, bool kAbsolute>
void backward_tile(std::span<const ProjectedSplat> splats, const TileSlots& slots, const TilePlace& place,
                   float max_alpha, BackwardTile& tile, BackwardOutput out) {
  const D d;
  const V zero = hn::Zero(d);
  const float log2_alpha_max = std::log2(max_alpha);
  const V vlog2_alpha_max = hn::Set(d, log2_alpha_max);
  const TileConstants constants(d);
  const ColumnCenters columns(d, place.x);
  std::uint32_t live = live_rows(d, tile.transmittance);
  for (std::size_t k = 0; k < slots.gaussian.size(); ++k) {
    if (k % kLiveCheckInterval == 0 && k > 0) live = live_rows(d, tile.transmittance);
    if (live == 0) break;
    if (k + kPrefetchDistance < slots.gaussian.size()) {
      hwy::Prefetch(&splats[slots.gaussian[k + kPrefetchDistance]]);
      hwy::Prefetch(&out.partial[std::size_t{kPartialSize} * slots.emission[k + kPrefetchDistance]]);
    }
    const ProjectedSplat& p = splats[slots.gaussian[k]];
    const TileSplat<kChannels> s(d, p, place, live, log2_alpha_max);
    bool any = false;
    V field[kPartialSize];
    for (V& f : field) f = zero;
    for (int x = 0; x < kTile; x += kLanes) {
      const ColumnTerms terms = column_terms(d, s.folded, columns.px[x / kLanes]);
      const MeanTerms mean(d, p, terms.dx);
      RowSums sums{{zero, zero, zero, zero}, zero, zero, zero, zero, zero};
      for (std::uint32_t left = s.pairs; left != 0; left &= left - 1) {
        const int row = static_cast<int>(hwy::Num0BitsBelowLS1Bit_Nonzero32(left));
        any |= backward_rows<kChannels, kAlpha, kAbsolute>(d, constants, terms, mean, s,
                                                           row_dy(d, s.first_dy, row), vlog2_alpha_max,
                                                           kTile * row + x, tile, sums);
      }
      add_columns<kChannels, kAbsolute>(d, sums, terms.dx, field);
    }
    if (!any) continue;
    const std::size_t emission = slots.emission[k];
    store_lane_sums(d, field, &out.partial[kPartialSize * emission]);
    out.is_written[emission] = 1;
  }
}

template <int kChannels, bool kAlpha>
void choose_absolute(bool absolute, std::span<const ProjectedSplat> splats, const TileSlots& slots,
                     const TilePlace& place, float alpha_max, BackwardTile& tile, BackwardOutput out) {
  if (absolute) return backward_tile<kChannels, kAlpha, true>(splats, slots, place, alpha_max, tile, out);
  backward_tile<kChannels, kAlpha, false>(splats, slots, place, alpha_max, tile, out);
}

void backward_tile_dispatch(BackwardKind kind, std::span<const ProjectedSplat> splats, const TileSlots& slots,
                            const TilePlace& place, float alpha_max, BackwardTile& tile, BackwardOutput out) {
  const bool absolute = kind.absolute;
  if (kind.depth && kind.alpha)
    return choose_absolute<4, true>(absolute, splats, slots, place, alpha_max, tile, out);
  if (kind.depth) return choose_absolute<4, false>(absolute, splats, slots, place, alpha_max, tile, out);
  if (kind.alpha) return choose_absolute<3, true>(absolute, splats, slots, place, alpha_max, tile, out);
  choose_absolute<3, false>(absolute, splats, slots, place, alpha_max, tile, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple {

HWY_EXPORT(backward_tile_dispatch);

namespace {

struct Planes {  // of the picture and its gradient; depth and alpha may be empty
  std::span<const float> color, transmittance, depth, dL_dcolor, dL_dalpha, dL_ddepth;
};

// Loads the gradients, and S = all outputs dotted with them.
void load_tile(const Planes& planes, const TilePlace& place, int picture_width, BackwardTile& tile) {
  std::size_t plane = planes.transmittance.size();
  bool with_depth = !planes.dL_ddepth.empty(), with_alpha = !planes.dL_dalpha.empty();
  std::fill_n(tile.behind, kTilePixels, 0.0f);
  std::fill_n(tile.dL_dchannel[0], (with_depth ? 4 : 3) * kTilePixels, 0.0f);
  if (with_alpha) std::fill_n(tile.dL_dalpha, kTilePixels, 0.0f);
  for (int y = 0; y < place.height; ++y) {
    std::size_t at = static_cast<std::size_t>(place.y + y) * picture_width + place.x;
    float* behind = tile.behind + kTile * y;
    auto add_output = [&](const float* gradient, const float* output, float* to) {
      for (int x = 0; x < place.width; ++x) {
        to[x] = gradient[x];
        behind[x] += gradient[x] * output[x];
      }
    };
    for (int k = 0; k < 3; ++k)
      add_output(&planes.dL_dcolor[k * plane + at], &planes.color[k * plane + at],
                 tile.dL_dchannel[k] + kTile * y);
    if (with_depth) add_output(&planes.dL_ddepth[at], &planes.depth[at], tile.dL_dchannel[3] + kTile * y);
    if (with_alpha) {
      float alpha[kTile];
      for (int x = 0; x < place.width; ++x) alpha[x] = 1 - planes.transmittance[at + x];
      add_output(&planes.dL_dalpha[at], alpha, tile.dL_dalpha + kTile * y);
    }
  }
}

Vec3f background_gradient(const Planes& planes, const TilePlace& place, int picture_width) {
  Vec3f sum(0, 0, 0);
  std::size_t plane = planes.transmittance.size();
  for (int y = 0; y < place.height; ++y)
    for (int x = 0; x < place.width; ++x) {
      std::size_t at = static_cast<std::size_t>(place.y + y) * picture_width + place.x + x;
      for (int k = 0; k < 3; ++k) sum[k] += planes.dL_dcolor[k * plane + at] * planes.transmittance[at];
    }
  return sum;
}

struct PartialSum {
  float field[kPartialSize] = {};
};

// A Gaussian's own run of partial sums.
PartialSum sum_partials(TileBins::Emissions run, const BackwardOutput& partials) {
  PartialSum sum;
  for (std::size_t e = run.begin; e < run.end; ++e) {
    if (!partials.is_written[e]) continue;
    for (int i = 0; i < kPartialSize; ++i) sum.field[i] += partials.partial[kPartialSize * e + i];
  }
  return sum;
}

Splat splat_gradient(const Splat& s, const PartialSum& partial) {
  const auto& sum = partial.field;
  return Math<float>::splat_gradient(s.conic, s.opacity,
                                     {sum[kM0],
                                      {sum[kMx], sum[kMy]},
                                      {sum[kMxx], sum[kMxy], sum[kMyy]},
                                      {sum[kRed], sum[kGreen], sum[kBlue], sum[kDepth]}});
}

}  // namespace

void CpuBackend::blend_backward(const Projection& projection, const TileBins& bins, const View& view,
                                const Frame& frame, const FrameGradient& dL_dframe, SplatGradient& out) {
  auto splats = host(projection.splat);
  auto slot_begin = host(bins.slot_begin_from_tile);
  const TileSlots slots{host(bins.gaussian_from_slot), host(bins.emission_from_slot)};
  auto emissions = host(bins.emissions_from_gaussian);
  std::size_t tile_count = slot_begin.size() - 1;
  Planes planes{host(frame.color),     host(frame.transmittance), host(frame.depth),
                host(dL_dframe.color), host(dL_dframe.alpha),     host(dL_dframe.depth)};
  const BackwardKind kind{!planes.dL_ddepth.empty(), !planes.dL_dalpha.empty(), out.wants_absolute};

  partial_.resize(*this, kPartialSize * slots.emission.size());
  partial_is_written_.resize_zero(*this, slots.emission.size());
  BackwardOutput partials{host(partial_), host(partial_is_written_)};
  std::vector<Vec3f> background(out.wants_background ? tile_count : 0);
  auto backward_one = HWY_DYNAMIC_DISPATCH(backward_tile_dispatch);
  parallel_for(tile_count, [&](std::size_t t) {
    TilePlace place(bins, view.camera, t);
    BackwardTile tile;
    start_transmittance(place, tile.transmittance);
    load_tile(planes, place, frame.width_px, tile);
    if (out.wants_background) background[t] = background_gradient(planes, place, frame.width_px);
    const std::size_t begin = slot_begin[t], count = slot_begin[t + 1] - begin;
    backward_one(kind, splats, {slots.gaussian.subspan(begin, count), slots.emission.subspan(begin, count)},
                 place, view.options.alpha_max, tile, partials);
  });
  out.background = {0, 0, 0};
  for (Vec3f tile : background) out.background = out.background + tile;

  out.splat.resize(*this, splats.size());
  out.absolute_mean_px.resize(*this, out.wants_absolute ? splats.size() : 0);
  auto dL_dsplat = host(out.splat);
  auto absolute = host(out.absolute_mean_px);
  parallel_for(
      splats.size(),
      [&](std::size_t i) {
        const bool seen = splats[i].splat.opacity > 0;
        const PartialSum sum = seen ? sum_partials(emissions[i], partials) : PartialSum();
        dL_dsplat[i] =
            seen ? splat_gradient(splats[i].splat, sum) : Splat{{0, 0}, {0, 0, 0}, 0, {0, 0, 0, 0}};
        if (out.wants_absolute) absolute[i] = {sum.field[kAbsoluteX], sum.field[kAbsoluteY]};
      },
      1024);
}

}  // namespace stipple
#endif
