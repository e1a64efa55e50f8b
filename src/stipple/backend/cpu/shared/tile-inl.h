// SPDX-License-Identifier: Apache-2.0
// Shared by blend and blend_backward, compiled once per vector width (hence the unusual include guard).
//
// Alpha is evaluated in the folded form of math/blending.glsl, 2^y. Here y is a parabola in dy whose
// coefficients are the same for all pixels of a column. Both stages evaluate y and the exponential with the
// same operations, so that they see exactly the same contributions.
#if defined(STIPPLE_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STIPPLE_TILE_INL_H_
#undef STIPPLE_TILE_INL_H_
#else
#define STIPPLE_TILE_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "stipple/backend/cpu/shared/tile.h"

HWY_BEFORE_NAMESPACE();
namespace stipple::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, kTile>;  // at most a row of a tile
using V = hn::Vec<D>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));

// Vectors that are the same for all splats. They are built once per tile; otherwise the compiler would reload
// them for every splat.
struct TileConstants {
  V min_exponent, min_transmittance, sign, zero, one, exp2_polynomial[6];

  HWY_INLINE explicit TileConstants(D d)
      : min_exponent(hn::Set(d, Math<float>::min_exponent)),
        min_transmittance(hn::Set(d, Math<float>::min_transmittance)),
        sign(hn::SignBit(d)),
        zero(hn::Zero(d)),
        one(hn::Set(d, 1.0f)) {
    // 2^f for f in [-1/2, 1/2], relative error 8e-8.
    const float coefficients[6] = {0.00132764722f, 0.00967554133f, 0.0555071327f,
                                   0.240221197f,   0.693146967f,   1.00000007f};
    for (int i = 0; i < 6; ++i) exp2_polynomial[i] = hn::Set(d, coefficients[i]);
  }
};

HWY_INLINE V exp2_fraction(const TileConstants& k, V f) {
  V p = k.exp2_polynomial[0];
  for (int i = 1; i < 6; ++i) p = hn::MulAdd(p, f, k.exp2_polynomial[i]);
  return p;
}

// 2^y for y <= 0. Lanes with y < -126 hold arbitrary values; they are not used.
HWY_INLINE V exp2(D d, const TileConstants& k, V y) {
#if HWY_TARGET <= HWY_AVX3 && HWY_ARCH_X86
  const __m512 n = _mm512_roundscale_ps(y.raw, 0);  // two instructions fewer than with portable Highway
  (void)d;
  return V{_mm512_scalef_ps(exp2_fraction(k, hn::Sub(y, V{n})).raw, n)};
#else
  const hn::RebindToSigned<D> di;
  // Adding 1.5 * 2^23 rounds to an integer n, which ends up in the lowest bits.
  const V magic = hn::Set(d, 12582912.0f);
  const V shifted = hn::Add(y, magic);
  const V p = exp2_fraction(k, hn::Sub(y, hn::Sub(shifted, magic)));
  return hn::BitCast(d, hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::BitCast(di, shifted))));
#endif
}

using FoldedSplat = Math<float>::FoldedSplat;

HWY_INLINE FoldedSplat fold(const ProjectedSplat& p, float log2_alpha_max) {
  return Math<float>::fold(p.splat.mean_px, p.splat.conic, p.log2_opacity, log2_alpha_max);
}

// Bit r is set if row r of the tile lies within the splat's reach. This is here rather than in tile.h so that
// it is compiled to rounding instructions.
HWY_INLINE std::uint32_t rows_in_reach(const ProjectedSplat& p, int tile_y) {
  // kFar only keeps the values within the range of int. The clamps that often take effect are on integers,
  // where they need no branch.
  constexpr float kFar = 1e6f;
  const float center = p.splat.mean_px.y - static_cast<float>(tile_y) - 0.5f;
  const int above = static_cast<int>(std::ceil(std::max(center - p.half_extent_px.y, -kFar)));
  const int below = static_cast<int>(std::floor(std::min(center + p.half_extent_px.y, kFar)));
  const int first = std::max(above, 0), last = std::min(below, kTile - 1);
  return first <= last ? (2u << last) - (1u << first) : 0;
}

// Rows are processed in pairs, an even row and the next: half the branches, and two independent chains of
// operations. For even r, bit r of the result is set if row r or r + 1 must be drawn.
HWY_INLINE std::uint32_t row_pairs(std::uint32_t rows) { return (rows | rows >> 1) & 0x5555; }

// The channels to blend for a splat: its own, or its four values in `given`. The choice is made at
// compile time; at run time it would slow the kernels down by 5 %.
template <bool kGiven>
HWY_INLINE const float* channels_of(const ProjectedSplat& p, const float* given, std::uint32_t row) {
  if constexpr (kGiven) return given + std::size_t{4} * row;
  (void)given, (void)row;
  return &p.splat.channels.x;
}

// The values of a splat that all pixels of a tile share.
template <int kChannels>
struct TileSplat {
  std::uint32_t pairs;  // of rows, see row_pairs()
  FoldedSplat folded;
  V c, max_exponent, first_dy, color[kChannels];

  HWY_INLINE TileSplat(D d, const ProjectedSplat& p, const float* channels, const TilePlace& place,
                       std::uint32_t live, float log2_alpha_max)
      : pairs(row_pairs(rows_in_reach(p, place.y) & live)), folded(fold(p, log2_alpha_max)) {
    c = hn::Set(d, folded.curve.z);
    max_exponent = hn::Set(d, folded.max_exponent);
    first_dy = hn::Set(d, static_cast<float>(place.y) + 0.5f - folded.mean_px.y);
    for (int i = 0; i < kChannels; ++i) color[i] = hn::Set(d, channels[i]);
  }
};

// A splat's terms for one group of columns: y = constant + dy (slope + c dy).
struct ColumnTerms {
  V dx, constant, slope;
};

// The pixel centres of each group of columns, computed once per tile, where the cost is negligible.
struct ColumnCenters {
  V px[kTile / kLanes];

  HWY_INLINE ColumnCenters(D d, int tile_x) {
    for (int i = 0; i < kTile / kLanes; ++i)
      px[i] = hn::Iota(d, static_cast<float>(tile_x + i * kLanes) + 0.5f);
  }
};

HWY_INLINE ColumnTerms column_terms(D d, const FoldedSplat& s, V px) {
  ColumnTerms t;
  t.dx = hn::Sub(px, hn::Set(d, s.mean_px.x));
  t.constant = hn::MulAdd(hn::Mul(hn::Set(d, s.curve.x), t.dx), t.dx, hn::Set(d, s.log2_opacity));
  t.slope = hn::Mul(hn::Set(d, s.curve.y), t.dx);
  return t;
}

HWY_INLINE V exponent(const ColumnTerms& t, V c, V dy) {
  return hn::MulAdd(dy, hn::MulAdd(c, dy, t.slope), t.constant);
}

// dy of a row, given that of the tile's first row.
HWY_INLINE V row_dy(D d, V first_dy, int row) { return hn::Add(first_dy, hn::Set(d, kRowOffset[row])); }

// The rows of the tile with at least one unfinished pixel, as bits.
HWY_INLINE std::uint32_t live_rows(D d, const float* transmittance) {
  std::uint32_t rows = 0;
  for (int row = 0; row < kTile; ++row) {
    bool live = false;
    for (int x = 0; x < kTile; x += kLanes)
      live |= !hn::AllFalse(d, hn::Gt(hn::Load(d, transmittance + kTile * row + x), hn::Zero(d)));
    rows |= static_cast<std::uint32_t>(live) << row;
  }
  return rows;
}

// One splat at one group of columns of one row: where it is drawn.
struct Candidate {
  V y;
  V front;  // transmittance in front of it
  hn::Mask<D> drawn;
};

HWY_INLINE Candidate candidate(D d, const TileConstants& k, const ColumnTerms& terms, V c, V dy,
                               const float* transmittance) {
  Candidate s;
  s.front = hn::Load(d, transmittance);
  s.y = exponent(terms, c, dy);
  s.drawn = hn::And(hn::Ge(s.y, k.min_exponent), hn::Gt(s.front, k.zero));
  return s;
}

// One splat at one group of columns of one row: how much it contributes.
struct Contribution {
  V alpha;
  V weight;  // alpha * front, 0 where the splat is not drawn
};

// Computes a splat's contribution and subtracts its weight from the transmittance.
HWY_INLINE Contribution contribute(D d, const TileConstants& k, const Candidate& s, V max_exponent,
                                   float* transmittance) {
  Contribution out;
  out.alpha = exp2(d, k, hn::Min(s.y, max_exponent));
  const V weight = hn::IfThenElseZero(s.drawn, hn::Mul(s.front, out.alpha));
  const V after = hn::Sub(s.front, weight);
  // A splat that would bring a pixel below the limit finishes it (sets its sign) and is not blended. Finished
  // pixels are unchanged.
  const auto goes_on = hn::Ge(after, k.min_transmittance);
  hn::Store(hn::IfThenElse(goes_on, after, hn::Or(s.front, k.sign)), d, transmittance);
  out.weight = hn::IfThenElseZero(goes_on, weight);
  return out;
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple::cpu
HWY_AFTER_NAMESPACE();

#endif
