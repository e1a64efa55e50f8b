// SPDX-License-Identifier: Apache-2.0
// blend_backward: the picture's gradient to every splat's.
//
// Each tile is walked front to back again. With p = channels . dL_dchannels + dL_dalpha of a splat at a
// pixel, and S = what lies behind it dotted with the gradients (the picture's own dot product at first, minus
// p alpha T from then on), dL_dalpha = p T - S / (1 - alpha). Of q = alpha dL_dalpha only the moments of
// math/blending.glsl are kept: the conic is multiplied in once per Gaussian. A (splat, tile) pair writes its
// sums to the pair's own place, its emission, and every Gaussian then adds up its own run: no two threads
// ever add into the same number, and the order of additions is fixed.
#include <atomic>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/backend/cpu/shared/channel_group.h"
#include "stipple/core/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "stipple/backend/cpu/blend_backward.cpp"
#include <hwy/foreach_target.h>
// after foreach_target.h
#include "stipple/backend/cpu/shared/tile-inl.h"

#ifndef STIPPLE_BLEND_BACKWARD_ONCE
#define STIPPLE_BLEND_BACKWARD_ONCE
namespace stipple::cpu {

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
  bool fourth, alpha, absolute;
};

struct BackwardSplats {
  std::span<const ProjectedSplat> projected;
  const float* channels;  // four values a Gaussian in place of the splats' own, or null
};

struct TileSlots {  // what a tile draws, nearest first
  std::span<const std::uint32_t> gaussian, emission;
};

struct BackwardOutput {
  std::span<float> partial;
  std::span<std::uint8_t> is_written;
};

}  // namespace stipple::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace stipple::cpu {
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
  for (std::size_t k = 0; k < slots.gaussian.size(); ++k) {
    if (k % kLiveCheckInterval == 0 && k > 0) live = live_rows(d, tile.transmittance);
    if (live == 0) break;
    if (k + kPrefetchDistance < slots.gaussian.size()) {
      hwy::Prefetch(&splats[slots.gaussian[k + kPrefetchDistance]]);
      hwy::Prefetch(&out.partial[std::size_t{kPartialSize} * slots.emission[k + kPrefetchDistance]]);
    }
    const ProjectedSplat& p = splats[slots.gaussian[k]];
    const TileSplat<kChannels> s(d, p, channels_of<kGiven>(p, all.channels, slots.gaussian[k]), place, live,
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

namespace {

struct Planes {  // of the outputs and their gradients; null where there is no gradient
  const float *output[4] = {}, *gradient[4] = {};
  const float *transmittance = nullptr, *dL_dalpha = nullptr;
};

// Loads the gradients, and S = all outputs dotted with them.
void load_tile(const Planes& planes, int channel_count, const TilePlace& place, int picture_width,
               BackwardTile& tile) {
  std::fill_n(tile.behind, kTilePixels, 0.0f);
  std::fill_n(tile.dL_dchannel[0], channel_count * kTilePixels, 0.0f);
  if (planes.dL_dalpha) std::fill_n(tile.dL_dalpha, kTilePixels, 0.0f);
  for (int y = 0; y < place.height; ++y) {
    std::size_t at = static_cast<std::size_t>(place.y + y) * picture_width + place.x;
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

Vec3f background_gradient(const Planes& planes, const TilePlace& place, int picture_width) {
  Vec3f sum(0, 0, 0);
  for (int y = 0; y < place.height; ++y)
    for (int x = 0; x < place.width; ++x) {
      std::size_t at = static_cast<std::size_t>(place.y + y) * picture_width + place.x + x;
      for (int k = 0; k < 3; ++k) sum[k] += planes.gradient[k][at] * planes.transmittance[at];
    }
  return sum;
}

struct PartialSum {
  float field[kPartialSize] = {};
};

// A Gaussian's own run of partial sums.
PartialSum sum_partials(PairRange run, const BackwardOutput& partials) {
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

bool is_finite(const Splat& s) {
  const float* v = reinterpret_cast<const float*>(&s);
  float zero = 0;  // stays so unless one is infinite or not a number
  for (std::size_t i = 0; i < sizeof(Splat) / sizeof(float); ++i) zero += v[i] * 0;
  return zero == 0;
}

// A fourth channel in the order of Splat::channels.
float channel_sum(const PartialSum& sum, int k) {
  constexpr PartialField kField[4] = {kRed, kGreen, kBlue, kDepth};
  return sum.field[kField[k]];
}

// One walk through every tile, and the sums of each Gaussian that is seen: gather(Gaussian, its sums, the
// gradient of its splat), on any thread. False when a gradient is not finite.
class BackwardWalk {
 public:
  BackwardWalk(CpuBackend& backend, const View& view, Pass& pass)
      : backend_(backend), view_(view), pass_(pass), own_(cpu_pass(pass)) {}

  // visit(tile, place) is called for every tile, too.
  template <class Visit>
  void run(const float* channels, const Planes& planes, const BackwardKind& kind, Visit visit) {
    auto slot_begin = host(pass_.bins.slot_begin_from_tile);
    const TileSlots slots{host(std::as_const(pass_.bins.gaussian_from_slot)),
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
      backward_one(kind, splats, {slots.gaussian.subspan(begin, count), slots.emission.subspan(begin, count)},
                   place, view_.options.alpha_max, tile, out);
    });
  }

  template <class Gather>
  bool gather(Gather take) {
    auto splats = host(std::as_const(pass_.projection.splat));
    auto emissions = host(std::as_const(own_.pairs_from_gaussian));
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

template <class T>
const float* floats_or_null(const DeviceArray<T>& array) {
  return array.empty() ? nullptr : host(array).data();
}

}  // namespace

void CpuBackend::blend_backward(const View& view, const WantedGradients& wanted, Pass& pass) {
  check_frame_gradient(pass);
  CpuPass& own = cpu_pass(pass);
  const Frame& frame = pass.frame;
  const FrameGradient& dL_dframe = pass.dL_dframe;
  const std::size_t plane = frame.transmittance.size();
  Planes planes;
  for (std::size_t k = 0; k < 3 && plane > 0; ++k) {
    planes.output[k] = host(frame.color).data() + k * plane;
    planes.gradient[k] = host(dL_dframe.color).data() + k * plane;
  }
  planes.output[3] = floats_or_null(frame.depth);
  planes.gradient[3] = floats_or_null(dL_dframe.depth);
  planes.transmittance = floats_or_null(frame.transmittance);
  planes.dL_dalpha = floats_or_null(dL_dframe.alpha);
  const BackwardKind kind{planes.gradient[3] != nullptr, planes.dL_dalpha != nullptr, wanted.absolute_mean};

  BackwardWalk walk(*this, view, pass);
  std::vector<Vec3f> background(wanted.background ? pass.bins.slot_begin_from_tile.size() - 1 : 0);
  walk.run(nullptr, planes, kind, [&](std::size_t t, const TilePlace& place) {
    if (wanted.background) background[t] = background_gradient(planes, place, frame.width_px);
  });
  own.view().background = {0, 0, 0};
  for (Vec3f tile : background) own.view().background = own.view().background + tile;

  const std::size_t count = pass.projection.splat.size();
  pass.dL_dsplat.splat.resize(*this, count);
  pass.dL_dsplat.absolute_mean_px.resize(*this, wanted.absolute_mean ? count : 0);
  auto dL_dsplat = host(pass.dL_dsplat.splat);
  auto absolute = host(pass.dL_dsplat.absolute_mean_px);
  const bool is_finite = walk.gather([&](std::size_t i, const PartialSum& sum, const Splat& gradient) {
    dL_dsplat[i] = gradient;
    if (!absolute.empty()) absolute[i] = {sum.field[kAbsoluteX], sum.field[kAbsoluteY]};
  });
  if (!is_finite) own.result.is_finite = false;
  own.clock.lap(Stage::kBlendBackward);
}

// A group of channels is blended, and differentiated, as if it were the colour: the loss is linear in the
// channels, so the gradients of a splat's place, shape and opacity are the sums over the groups.
void CpuBackend::blend_channels_backward(const View& view, const Channels& channels,
                                         const DeviceArray<float>& planes,
                                         const DeviceArray<float>& dL_dplanes, Pass& pass,
                                         DeviceArray<float>& dL_dchannels) {
  CpuPass& own = cpu_pass(pass);
  const std::size_t plane = pass.frame.transmittance.size(),
                    stride = static_cast<std::size_t>(channels.count);
  dL_dchannels.resize(*this, channels.value.size());
  auto out = host(dL_dchannels);
  auto dL_dsplat = host(pass.dL_dsplat.splat);
  BackwardWalk walk(*this, view, pass);
  for (int first = 0; first < channels.count; first += kChannelGroup) {
    const int count = std::min(kChannelGroup, channels.count - first);
    Planes group;
    for (int k = 0; k < count && plane > 0; ++k) {
      group.output[k] = host(planes).data() + static_cast<std::size_t>(first + k) * plane;
      group.gradient[k] = host(dL_dplanes).data() + static_cast<std::size_t>(first + k) * plane;
    }
    const float* values = load_channel_group(*this, channels, first, own.channel_group);
    walk.run(values, group, {true, false, false}, [](std::size_t, const TilePlace&) {});
    const bool is_finite = walk.gather([&](std::size_t i, const PartialSum& sum, const Splat& gradient) {
      Splat& total = dL_dsplat[i];
      total.mean_px = total.mean_px + gradient.mean_px;
      total.conic = total.conic + gradient.conic;
      total.opacity = total.opacity + gradient.opacity;
      for (int k = 0; k < count; ++k)
        out[i * stride + static_cast<std::size_t>(first + k)] = channel_sum(sum, k);
    });
    if (!is_finite) own.result.is_finite = false;
  }
  own.clock.lap(Stage::kBlendBackward);
}

}  // namespace stipple::cpu
#endif
