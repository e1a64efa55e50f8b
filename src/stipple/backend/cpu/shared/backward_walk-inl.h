// SPDX-License-Identifier: Apache-2.0
// The walk of blend_backward over the slots of every tile. The kernels are compiled once per vector width
// (hence the unusual include guard), the loading of tiles and the final summation only once.
//
// Each tile is traversed front to back again. For a splat at a pixel, let p be the dot product of its
// channels with their gradients, plus the gradient of the accumulated alpha. Let S be what lies behind the
// splat, background included, dotted with the gradients: it starts as the dot product of the pixel's outputs
// with their gradients, and each splat subtracts p alpha T. Then
//
//   dL_dalpha = p T - S / (1 - alpha),   q = alpha dL_dalpha
//
// Only the moments of q are accumulated (math/blending.glsl); the conic is multiplied in once per splat.
// Each pair writes its sums to a place of its own, given by its emission, and each splat then adds up the
// sums of its pairs: no two threads ever add to the same number, and the order of additions is fixed.
#if defined(STIPPLE_BACKWARD_WALK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STIPPLE_BACKWARD_WALK_INL_H_
#undef STIPPLE_BACKWARD_WALK_INL_H_
#else
#define STIPPLE_BACKWARD_WALK_INL_H_
#endif

#include <atomic>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/backend/cpu/shared/tile-inl.h"
#include "stipple/core/parallel.h"

#ifndef STIPPLE_BACKWARD_WALK_ONCE
#define STIPPLE_BACKWARD_WALK_ONCE
namespace stipple::cpu {

constexpr int kPartialSize = 16;  // floats per pair: one cache line
// The position of each sum in it, which follows from the way store_lane_sums() adds up vectors.
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

// The CPU takes a load for one of recently stored data, and stalls, if its address agrees with the store's in
// the last 12 bits. The gap keeps every array that is read eight rows away, modulo 4 KiB, from the two arrays
// that are written.
struct alignas(4096) BackwardTile {
  float transmittance[kTilePixels];
  float behind[kTilePixels];  // S
  float gap[kTilePixels / 2];
  float dL_dchannel[4][kTilePixels];  // red, green, blue, depth
  float dL_dalpha[kTilePixels];
};

struct BackwardKind {
  bool fourth, alpha;  // whether the fourth channel and the accumulated alpha have gradients
  bool absolute;       // whether SplatGradient::absolute_mean_px is wanted
};

struct BackwardSplats {
  std::span<const ProjectedSplat> projected;
  const float* channels;  // four values per splat to use instead of its own, or null
};

struct TileSlots {  // of one tile, nearest first
  std::span<const std::uint32_t> splat, emission;
};

struct BackwardOutput {  // indexed by emission
  std::span<float> partial;
  std::span<std::uint8_t> is_written;
};

}  // namespace stipple::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace stipple::cpu {
namespace HWY_NAMESPACE {

struct RowSums {  // over rows, for each column
  V channel[4], q, qy, qyy;
  V absolute_x, absolute_y;  // only if wanted
};

// A pixel contributes q * conic * (dx, dy) to dL_dmean_px, where conic * (dx, dy) is
// (xx_dx + xy dy, xy_dx + yy dy).
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
  const V r = hn::ApproximateReciprocal(x);  // 14 bits, which one step of Newton's method doubles
  return hn::Mul(r, hn::NegMulAdd(x, r, hn::Add(k.one, k.one)));
#else
  return hn::Div(k.one, x);
#endif
}

// Adds one row to the splat's sums.
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
  // The weight is 0 where the splat is not drawn, and a clamped alpha is constant.
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

// Adds a pair of rows to the splat's sums; returns false if the splat is drawn in neither.
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

// The sums over the lanes of four vectors, as the four lanes of one vector.
HWY_INLINE V4 sums_of_4(D4 d, V4 a, V4 b, V4 c, V4 e) {
  const V4 ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const V4 ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  return hn::Add(hn::ConcatLowerLower(d, ce, ab), hn::ConcatUpperUpper(d, ce, ab));
}
#endif

#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
// Each step halves the values per sum and merges two vectors into one, so that 16 lanes take four steps.
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

// Stores the sum of each field over its lanes.
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

// Adds a group of columns to the splat's sums. The rows of a column share dx, so that the moments in x are
// formed once, here.
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

// Walks over the slots of one tile.
template <int kChannels, bool kAlpha, bool kAbsolute, bool kGiven = false>
void backward_tile(const BackwardSplats& all, const TileSlots& slots, const TilePlace& place, float max_alpha,
                   BackwardTile& tile, BackwardOutput out) {
  const std::span<const ProjectedSplat> splats = all.projected;
  const D d;
  const V zero = hn::Zero(d);
  const float log2_alpha_max = std::log2(max_alpha);
  const V vlog2_alpha_max = hn::Set(d, log2_alpha_max);
  const TileConstants constants(d);
  const ColumnCenters columns(d, place.x);
  std::uint32_t live = live_rows(d, tile.transmittance);
  for (std::size_t k = 0; k < slots.splat.size(); ++k) {
    if (k % kLiveCheckInterval == 0 && k > 0) live = live_rows(d, tile.transmittance);
    if (live == 0) break;
    if (k + kPrefetchDistance < slots.splat.size()) {
      hwy::Prefetch(&splats[slots.splat[k + kPrefetchDistance]]);
      hwy::Prefetch(&out.partial[std::size_t{kPartialSize} * slots.emission[k + kPrefetchDistance]]);
    }
    const ProjectedSplat& p = splats[slots.splat[k]];
    const TileSplat<kChannels> s(d, p, channels_of<kGiven>(p, all.channels, slots.splat[k]), place, live,
                                 log2_alpha_max);
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
void choose_absolute(bool absolute, const BackwardSplats& splats, const TileSlots& slots,
                     const TilePlace& place, float alpha_max, BackwardTile& tile, BackwardOutput out) {
  if (absolute) return backward_tile<kChannels, kAlpha, true>(splats, slots, place, alpha_max, tile, out);
  backward_tile<kChannels, kAlpha, false>(splats, slots, place, alpha_max, tile, out);
}

void backward_tile_dispatch(BackwardKind kind, const BackwardSplats& splats, const TileSlots& slots,
                            const TilePlace& place, float alpha_max, BackwardTile& tile, BackwardOutput out) {
  const bool absolute = kind.absolute;
  if (splats.channels)
    return backward_tile<4, false, false, true>(splats, slots, place, alpha_max, tile, out);
  if (kind.fourth && kind.alpha)
    return choose_absolute<4, true>(absolute, splats, slots, place, alpha_max, tile, out);
  if (kind.fourth) return choose_absolute<4, false>(absolute, splats, slots, place, alpha_max, tile, out);
  if (kind.alpha) return choose_absolute<3, true>(absolute, splats, slots, place, alpha_max, tile, out);
  choose_absolute<3, false>(absolute, splats, slots, place, alpha_max, tile, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace stipple::cpu {

HWY_EXPORT(backward_tile_dispatch);

struct Planes {  // the rendered outputs and their gradients; null if there is no gradient
  const float *output[4] = {}, *gradient[4] = {};
  const float *transmittance = nullptr, *dL_dalpha = nullptr;
};

// Loads the gradients of a tile and initialises S, the dot product of all outputs with their gradients.
inline void load_tile(const Planes& planes, int channel_count, const TilePlace& place, int image_width,
                      BackwardTile& tile) {
  std::fill_n(tile.behind, kTilePixels, 0.0f);
  std::fill_n(tile.dL_dchannel[0], channel_count * kTilePixels, 0.0f);
  if (planes.dL_dalpha) std::fill_n(tile.dL_dalpha, kTilePixels, 0.0f);
  for (int y = 0; y < place.height; ++y) {
    std::size_t at = static_cast<std::size_t>(place.y + y) * image_width + place.x;
    float* behind = tile.behind + kTile * y;
    auto add_output = [&](const float* gradient, const float* output, float* to) {
      for (int x = 0; x < place.width; ++x) {
        to[x] = gradient[x];
        behind[x] += gradient[x] * output[x];
      }
    };
    for (int k = 0; k < 4; ++k)
      if (planes.gradient[k])
        add_output(planes.gradient[k] + at, planes.output[k] + at, tile.dL_dchannel[k] + kTile * y);
    if (planes.dL_dalpha) {
      float alpha[kTile];
      for (int x = 0; x < place.width; ++x) alpha[x] = 1 - planes.transmittance[at + x];
      add_output(planes.dL_dalpha + at, alpha, tile.dL_dalpha + kTile * y);
    }
  }
}

struct PartialSum {
  float field[kPartialSize] = {};
};

// Adds up the partial sums of one splat.
inline PartialSum sum_partials(PairRange run, const BackwardOutput& partials) {
  PartialSum sum;
  for (std::size_t e = run.begin; e < run.end; ++e) {
    if (!partials.is_written[e]) continue;
    for (int i = 0; i < kPartialSize; ++i) sum.field[i] += partials.partial[kPartialSize * e + i];
  }
  return sum;
}

inline Splat splat_gradient(const Splat& s, const PartialSum& partial) {
  const auto& sum = partial.field;
  return Math<float>::splat_gradient(s.conic, s.opacity,
                                     {sum[kM0],
                                      {sum[kMx], sum[kMy]},
                                      {sum[kMxx], sum[kMxy], sum[kMyy]},
                                      {sum[kRed], sum[kGreen], sum[kBlue], sum[kDepth]}});
}

inline bool is_finite(const Splat& s) {
  const float* v = reinterpret_cast<const float*>(&s);
  float zero = 0;  // unless a value is not finite
  for (std::size_t i = 0; i < sizeof(Splat) / sizeof(float); ++i) zero += v[i] * 0;
  return zero == 0;
}

// The walk over all tiles of a view, which leaves partial sums per pair, and the summation per splat.
class BackwardWalk {
 public:
  BackwardWalk(CpuBackend& backend, const View& view, Pass& pass)
      : backend_(backend), view_(view), pass_(pass), own_(cpu_pass(pass)) {}

  // Computes the partial sums of every pair. Also calls visit(tile, place) for every tile, on any thread.
  template <class Visit>
  void run(const float* channels, const Planes& planes, const BackwardKind& kind, Visit visit) {
    auto slot_begin = host(pass_.bins.slot_begin_from_tile);
    const TileSlots slots{host(std::as_const(pass_.bins.splat_from_slot)),
                          host(std::as_const(own_.pair_from_slot))};
    const BackwardSplats splats{host(std::as_const(pass_.projection.splat)), channels};
    own_.partial.resize(backend_, kPartialSize * slots.emission.size());
    own_.partial_is_written.resize_zero(backend_, slots.emission.size());
    const BackwardOutput out = partials();
    auto backward_one = HWY_DYNAMIC_DISPATCH(backward_tile_dispatch);
    parallel_for(slot_begin.size() - 1, [&](std::size_t t) {
      TilePlace place(pass_.bins, view_.camera, t);
      BackwardTile tile;
      start_transmittance(place, tile.transmittance);
      load_tile(planes, kind.fourth ? 4 : 3, place, pass_.frame.width_px, tile);
      visit(t, place);
      const std::size_t begin = slot_begin[t], count = slot_begin[t + 1] - begin;
      backward_one(kind, splats, {slots.splat.subspan(begin, count), slots.emission.subspan(begin, count)},
                   place, view_.options.alpha_max, tile, out);
    });
  }

  // Calls take(row of the splat, its sums, its gradient) for every splat, on any thread; both are zero if it
  // is not drawn. Returns false if a gradient is not finite.
  template <class Take>
  bool gather(Take take) {
    auto splats = host(std::as_const(pass_.projection.splat));
    auto emissions = host(std::as_const(own_.pairs_from_splat));
    const BackwardOutput from = partials();
    std::atomic<bool> all_finite = true;
    parallel_for(
        splats.size(),
        [&](std::size_t i) {
          const bool seen = splats[i].splat.opacity > 0;
          const PartialSum sum = seen ? sum_partials(emissions[i], from) : PartialSum();
          const Splat gradient =
              seen ? splat_gradient(splats[i].splat, sum) : Splat{{0, 0}, {0, 0, 0}, 0, {0, 0, 0, 0}};
          if (!is_finite(gradient)) all_finite = false;
          take(i, sum, gradient);
        },
        1024);
    return all_finite;
  }

 private:
  BackwardOutput partials() { return {host(own_.partial), host(own_.partial_is_written)}; }

  CpuBackend& backend_;
  const View& view_;
  Pass& pass_;
  CpuPass& own_;
};

}  // namespace stipple::cpu
#endif

#endif
