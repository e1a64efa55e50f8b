// SPDX-License-Identifier: Apache-2.0
// The shared maths on a vector of Gaussians at a time: Lanes is a scalar type whose operations apply to all
// lanes, so that Math<Lanes> is math/*.glsl compiled for vectors. The header is compiled once per vector
// width (hence the unusual include guard). Each width's namespace repeats the types of vec.inc and math.inc,
// since a function must be compiled for the instructions it uses.
#if defined(STIPPLE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef STIPPLE_LANES_INL_H_
#undef STIPPLE_LANES_INL_H_
#else
#define STIPPLE_LANES_INL_H_
#endif

#include <hwy/highway.h>
// after highway.h
#include <hwy/contrib/math/math-inl.h>

#include <cmath>
#include <cstdint>

#include "stipple/math/host_device.h"

HWY_BEFORE_NAMESPACE();
namespace stipple::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::CappedTag<float, 16>;
using V = hn::Vec<D>;
constexpr int kLanes = static_cast<int>(hn::MaxLanes(D()));

struct LaneMask {
  hn::Mask<D> m;
  friend HWY_INLINE LaneMask operator&&(LaneMask a, LaneMask b) { return {hn::And(a.m, b.m)}; }
  friend HWY_INLINE LaneMask operator||(LaneMask a, LaneMask b) { return {hn::Or(a.m, b.m)}; }
};

// The bits of every lane.
using DU = hn::RebindToUnsigned<D>;
using VU = hn::Vec<DU>;
struct LaneBits {
  VU v;
  LaneBits() = default;
  HWY_INLINE explicit LaneBits(VU vector) : v(vector) {}
  HWY_INLINE LaneBits(std::uint32_t x) : v(hn::Set(DU(), x)) {}

  friend HWY_INLINE LaneBits operator+(LaneBits a, LaneBits b) { return LaneBits(hn::Add(a.v, b.v)); }
  friend HWY_INLINE LaneBits operator-(LaneBits a, LaneBits b) { return LaneBits(hn::Sub(a.v, b.v)); }
  friend HWY_INLINE LaneBits operator*(LaneBits a, LaneBits b) { return LaneBits(hn::Mul(a.v, b.v)); }
  friend HWY_INLINE LaneBits operator&(LaneBits a, LaneBits b) { return LaneBits(hn::And(a.v, b.v)); }
  friend HWY_INLINE LaneBits operator|(LaneBits a, LaneBits b) { return LaneBits(hn::Or(a.v, b.v)); }
  friend HWY_INLINE LaneBits operator^(LaneBits a, LaneBits b) { return LaneBits(hn::Xor(a.v, b.v)); }
  friend HWY_INLINE LaneBits operator<<(LaneBits a, unsigned n) {
    return LaneBits(hn::ShiftLeftSame(a.v, static_cast<int>(n)));
  }
  friend HWY_INLINE LaneBits operator>>(LaneBits a, unsigned n) {
    return LaneBits(hn::ShiftRightSame(a.v, static_cast<int>(n)));
  }
};

struct Lanes {
  V v;
  Lanes() = default;
  HWY_INLINE explicit Lanes(V vector) : v(vector) {}
  HWY_INLINE Lanes(float x) : v(hn::Set(D(), x)) {}
  HWY_INLINE Lanes(double x) : v(hn::Set(D(), static_cast<float>(x))) {}
  HWY_INLINE Lanes(int x) : v(hn::Set(D(), static_cast<float>(x))) {}

  friend HWY_INLINE Lanes operator+(Lanes a, Lanes b) { return Lanes(hn::Add(a.v, b.v)); }
  friend HWY_INLINE Lanes operator-(Lanes a, Lanes b) { return Lanes(hn::Sub(a.v, b.v)); }
  friend HWY_INLINE Lanes operator*(Lanes a, Lanes b) { return Lanes(hn::Mul(a.v, b.v)); }
  friend HWY_INLINE Lanes operator/(Lanes a, Lanes b) { return Lanes(hn::Div(a.v, b.v)); }
  friend HWY_INLINE Lanes operator-(Lanes a) { return Lanes(hn::Neg(a.v)); }
  friend HWY_INLINE LaneMask operator<(Lanes a, Lanes b) { return {hn::Lt(a.v, b.v)}; }
  friend HWY_INLINE LaneMask operator>(Lanes a, Lanes b) { return {hn::Gt(a.v, b.v)}; }
  friend HWY_INLINE LaneMask operator<=(Lanes a, Lanes b) { return {hn::Le(a.v, b.v)}; }
  friend HWY_INLINE LaneMask operator>=(Lanes a, Lanes b) { return {hn::Ge(a.v, b.v)}; }
  friend HWY_INLINE LaneMask operator==(Lanes a, Lanes b) { return {hn::Eq(a.v, b.v)}; }

  friend HWY_INLINE Lanes select(LaneMask c, Lanes a, Lanes b) {
    return Lanes(hn::IfThenElse(c.m, a.v, b.v));
  }
  // With this operand order a NaN in `a` propagates, as it does in the scalar versions.
  friend HWY_INLINE Lanes min(Lanes a, Lanes b) { return Lanes(hn::Min(b.v, a.v)); }
  friend HWY_INLINE Lanes max(Lanes a, Lanes b) { return Lanes(hn::Max(b.v, a.v)); }
  friend HWY_INLINE Lanes abs(Lanes a) { return Lanes(hn::Abs(a.v)); }
  friend HWY_INLINE LaneBits floatBitsToUint(Lanes a) { return LaneBits(hn::BitCast(DU(), a.v)); }
  friend HWY_INLINE Lanes sqrt(Lanes a) { return Lanes(hn::Sqrt(a.v)); }
  friend HWY_INLINE Lanes log(Lanes a) { return Lanes(hn::Log(D(), a.v)); }
  friend HWY_INLINE Lanes exp(Lanes a) {
    const D d;  // outside these limits the result is 0 or infinite; NaN is restored, since Exp would lose it
    const V result = hn::Exp(d, hn::Max(hn::Set(d, -104.0f), hn::Min(hn::Set(d, 104.0f), a.v)));
    return Lanes(hn::IfThenElse(hn::Eq(a.v, a.v), result, a.v));
  }
};

HWY_INLINE Lanes uintBitsToFloat(LaneBits a) { return Lanes(hn::BitCast(D(), a.v)); }

// Friends and members of class templates do not inherit the target of the enclosing region, so each of them
// must specify it.
#pragma push_macro("STIPPLE_HD")
#undef STIPPLE_HD
#define STIPPLE_HD HWY_ATTR __attribute__((always_inline))
#include "stipple/math/vec.inc"
// after vec.inc
#include "stipple/math/math.inc"
#pragma pop_macro("STIPPLE_HD")

template <>
struct ScalarTraits<Lanes> {
  using boolean = LaneMask;
  using bits32 = LaneBits;
  using constant = float;  // a vector cannot be a compile-time constant
};

HWY_INLINE Lanes load(const float* from) { return Lanes(hn::LoadU(D(), from)); }
HWY_INLINE void store(Lanes a, float* to) { hn::StoreU(a.v, D(), to); }

// Integers of 32 or 16 bits, which have 32 in a lane.
HWY_INLINE LaneBits load(const std::uint32_t* from) { return LaneBits(hn::LoadU(DU(), from)); }
HWY_INLINE LaneBits load(const std::uint16_t* from) {
  return LaneBits(hn::PromoteTo(DU(), hn::LoadU(hn::Rebind<std::uint16_t, D>(), from)));
}
HWY_INLINE void store(LaneBits a, std::uint32_t* to) { hn::StoreU(a.v, DU(), to); }
HWY_INLINE void store(LaneBits a, std::uint16_t* to) {
  const hn::Rebind<std::uint16_t, D> halves;
  hn::StoreU(hn::TruncateTo(halves, a.v), halves, to);
}
// first, first + 1, ...
HWY_INLINE LaneBits consecutive(std::uint32_t first) { return LaneBits(hn::Iota(DU(), first)); }

// Load and store kLanes consecutive vectors of 3 or 4 floats.
HWY_INLINE Vec3<Lanes> load3(const float* from) {
  Vec3<Lanes> r;
  hn::LoadInterleaved3(D(), from, r.x.v, r.y.v, r.z.v);
  return r;
}
HWY_INLINE Vec4<Lanes> load4(const float* from) {
  Vec4<Lanes> r;
  hn::LoadInterleaved4(D(), from, r.x.v, r.y.v, r.z.v, r.w.v);
  return r;
}
HWY_INLINE void store3(const Vec3<Lanes>& a, float* to) {
  hn::StoreInterleaved3(a.x.v, a.y.v, a.z.v, D(), to);
}
HWY_INLINE void store4(const Vec4<Lanes>& a, float* to) {
  hn::StoreInterleaved4(a.x.v, a.y.v, a.z.v, a.w.v, D(), to);
}

// Loads kLanes rows of 16 floats as 16 columns. Taking every fourth float twice takes every sixteenth: the
// first round moves float 4q + j of row r to position 4r + q of part j.
HWY_INLINE void load_transposed(const float* rows, Lanes (&columns)[16]) {
  alignas(64) float part[4][4 * kLanes];
  for (int k = 0; k < 4; ++k) {
    const Vec4<Lanes> v = load4(rows + 4 * kLanes * k);
    store(v.x, part[0] + kLanes * k);
    store(v.y, part[1] + kLanes * k);
    store(v.z, part[2] + kLanes * k);
    store(v.w, part[3] + kLanes * k);
  }
  for (int j = 0; j < 4; ++j) {
    const Vec4<Lanes> v = load4(part[j]);
    columns[j] = v.x;
    columns[4 + j] = v.y;
    columns[8 + j] = v.z;
    columns[12 + j] = v.w;
  }
}
HWY_INLINE void store_transposed(const Lanes (&columns)[16], float* rows) {
  alignas(64) float part[4][4 * kLanes];
  for (int j = 0; j < 4; ++j) store4({columns[j], columns[4 + j], columns[8 + j], columns[12 + j]}, part[j]);
  for (int k = 0; k < 4; ++k) {
    const int at = kLanes * k;
    store4({load(part[0] + at), load(part[1] + at), load(part[2] + at), load(part[3] + at)}, rows + 4 * at);
  }
}

// Broadcast the camera and the settings to every lane.
template <class Pinhole>
HWY_INLINE Math<Lanes>::Pinhole broadcast_camera(const Pinhole& c) {
  Math<Lanes>::Pinhole r;
  for (int i = 0; i < 3; ++i) r.rotation[i] = {c.rotation[i].x, c.rotation[i].y, c.rotation[i].z};
  r.translation = {c.translation.x, c.translation.y, c.translation.z};
  r.focal_px = {c.focal_px.x, c.focal_px.y};
  r.center_px = {c.center_px.x, c.center_px.y};
  r.size_px = {c.size_px.x, c.size_px.y};
  return r;
}
template <class Settings>
HWY_INLINE Math<Lanes>::RenderSettings broadcast_settings(const Settings& s) {
  Math<Lanes>::RenderSettings r;
#define STIPPLE_BROADCAST(type, name) r.name = s.name;
  RENDER_SETTINGS(STIPPLE_BROADCAST)
#undef STIPPLE_BROADCAST
  r.inverse_depth = s.inverse_depth;
  return r;
}

}  // namespace HWY_NAMESPACE
}  // namespace stipple::cpu
HWY_AFTER_NAMESPACE();

#endif
