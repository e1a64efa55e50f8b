// SPDX-License-Identifier: Apache-2.0
#pragma once
// A scalar for Math<real> that computes what a float may differ by from one device to the next: an interval
// that contains the result of every implementation whose operations are as accurate as Vulkan demands
// ("Precision and Operation of SPIR-V Instructions" in its specification). C++ is more accurate, so its
// results are inside, too.
//
// An interval without limits means that nothing is known: where a float may overflow or become NaN, and where
// a divisor may be 0. A comparison that may have either outcome is undecided; select() then returns the
// interval around both sides, and code that branches on it, or that converts an interval of several numbers
// to bits or to an integer, sets Bounded::has_guessed.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

#include "stipple/math/math.h"

namespace stipple {

struct Bounded;

struct Maybe {  // the outcome of a comparison
  bool can_be_true, can_be_false;

  operator bool() const;
  friend Maybe operator&&(Maybe a, Maybe b) {
    return {a.can_be_true && b.can_be_true, a.can_be_false || b.can_be_false};
  }
  friend Maybe operator||(Maybe a, Maybe b) { return !(!a && !b); }
  friend Maybe operator!(Maybe a) { return {a.can_be_false, a.can_be_true}; }
};

struct Bounded {
  double low, high;
  // Copies of one computed value have the same identity: they are equal, however wide the interval. Constants
  // have 0.
  std::uint64_t identity;

  inline static bool has_guessed = false;

  Bounded() = default;
  constexpr Bounded(double constant)
      : low(static_cast<float>(constant)), high(static_cast<float>(constant)), identity(0) {}
  Bounded(double low_, double high_) : low(low_), high(high_), identity(next_identity()) {}

  static Bounded unknown() {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return {-kInfinity, kInfinity};
  }
  bool is_known() const { return high < std::numeric_limits<double>::infinity(); }
  double magnitude() const { return std::max(std::abs(low), std::abs(high)); }

  explicit operator int() const {
    if (low != high) has_guessed = true;
    return is_known() ? static_cast<int>(low) : 0;
  }

  // The interval of a rounded result with this absolute error. A result below the normal numbers may become
  // 0.
  static Bounded rounded(double least, double most, double error) {
    const bool is_zero = least == 0 && most == 0 && error == 0;
    if (!is_zero) error += FLT_MIN;
    if (!(least - error >= -FLT_MAX && most + error <= FLT_MAX)) return unknown();  // also if one is NaN
    return {least - error, most + error};
  }
  // A product that needs no rounding is exact on every device.
  static bool is_exact(double least, double most) {
    return least == most && static_cast<double>(static_cast<float>(least)) == least &&
           (least == 0 || std::abs(least) >= FLT_MIN);
  }

  friend Bounded operator-(Bounded a) { return {-a.high, -a.low}; }
  // The error is relative to the operands rather than to their sum, because a device may add the terms of a
  // dot product in any order.
  friend Bounded operator+(Bounded a, Bounded b) {
    if (a.magnitude() == 0 || b.magnitude() == 0) return a.magnitude() == 0 ? b : a;
    return rounded(a.low + b.low, a.high + b.high, kUnit * (a.magnitude() + b.magnitude()));
  }
  friend Bounded operator-(Bounded a, Bounded b) { return a + -b; }
  friend Bounded operator*(Bounded a, Bounded b) {
    if (!a.is_known() || !b.is_known()) return unknown();
    const auto [least, most] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    if (is_exact(least, most)) return {least, most};
    return rounded(least, most, kUnit * std::max(std::abs(least), std::abs(most)));
  }
  friend Bounded operator/(Bounded a, Bounded b) {
    constexpr double kLeast = 0x1p-126, kMost = 0x1p126;  // Vulkan promises nothing for other divisors
    const bool has_one_sign = b.low * b.high > 0;
    const bool is_in_range = std::min(std::abs(b.low), std::abs(b.high)) >= kLeast && b.magnitude() <= kMost;
    if (!a.is_known() || !has_one_sign || !is_in_range) return unknown();
    const auto [least, most] = std::minmax({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
    return rounded(least, most, 2.5 * kUnit * std::max(std::abs(least), std::abs(most)));
  }
  friend Bounded sqrt(Bounded a) {  // Vulkan derives it from 1 / inversesqrt()
    if (!(a.low >= 0)) return unknown();
    return rounded(std::sqrt(a.low), std::sqrt(a.high), 5 * kUnit * std::sqrt(a.high));
  }
  friend Bounded exp(Bounded a) {
    return rounded(std::exp(a.low), std::exp(a.high), (3 + 2 * a.magnitude()) * kUnit * std::exp(a.high));
  }
  friend Bounded log(Bounded a) {
    if (!(a.low > 0)) return unknown();
    const double least = std::log(a.low), most = std::log(a.high);
    const bool is_near_1 = a.low <= 2 && a.high >= 0.5;
    return rounded(least, most,
                   3 * kUnit * std::max(std::abs(least), std::abs(most)) + (is_near_1 ? 0x1p-21 : 0));
  }
  friend Bounded sin(Bounded a) { return wave(a, std::sin((a.low + a.high) / 2)); }
  friend Bounded cos(Bounded a) { return wave(a, std::cos((a.low + a.high) / 2)); }
  friend Bounded abs(Bounded a) {
    if (a.low >= 0) return a;
    return a.high <= 0 ? -a : Bounded(0, a.magnitude());
  }
  friend Bounded floor(Bounded a) { return {std::floor(a.low), std::floor(a.high)}; }
  friend Bounded min(Bounded a, Bounded b) {
    if (!a.is_known() || !b.is_known()) return unknown();
    if (a.high <= b.low || b.high <= a.low) return a.high <= b.low ? a : b;
    return {std::min(a.low, b.low), std::min(a.high, b.high)};
  }
  friend Bounded max(Bounded a, Bounded b) {
    if (!a.is_known() || !b.is_known()) return unknown();
    if (a.low >= b.high || b.low >= a.high) return a.low >= b.high ? a : b;
    return {std::max(a.low, b.low), std::max(a.high, b.high)};
  }

  friend Maybe operator<(Bounded a, Bounded b) { return {a.low < b.high, a.high >= b.low}; }
  friend Maybe operator<=(Bounded a, Bounded b) { return {a.low <= b.high, a.high > b.low}; }
  friend Maybe operator>(Bounded a, Bounded b) { return b < a; }
  friend Maybe operator>=(Bounded a, Bounded b) { return b <= a; }
  friend Maybe operator==(Bounded a, Bounded b) {
    if (a.identity != 0 && a.identity == b.identity && a.is_known()) return {true, false};
    return {a.low <= b.high && b.low <= a.high, !(a.low == a.high && b.low == b.high && a.low == b.low)};
  }
  friend Bounded select(Maybe c, Bounded a, Bounded b) {
    if (c.can_be_true != c.can_be_false) return c.can_be_true ? a : b;
    return {std::min(a.low, b.low), std::max(a.high, b.high)};
  }
  friend std::uint32_t floatBitsToUint(Bounded a) {
    if (a.low != a.high) has_guessed = true;
    return stipple::floatBitsToUint(a.low);
  }

 private:
  static constexpr double kUnit = 0x1p-23;  // a unit in the last place, relative

  static std::uint64_t next_identity() {
    static std::uint64_t last = 0;
    return ++last;
  }
  // sin or cos, given its value in the middle of the interval. Their slope is at most 1. Vulkan's limit holds
  // up to pi; the maths needs, and devices have, the same accuracy up to 2 pi.
  static Bounded wave(Bounded a, double middle) {
    return a.magnitude() < 6.2832 ? rounded(middle, middle, (a.high - a.low) / 2 + 0x1p-11) : unknown();
  }
};

inline Maybe::operator bool() const {
  if (can_be_true && can_be_false) Bounded::has_guessed = true;
  return can_be_true;
}

template <>
struct ScalarTraits<Bounded> {
  using boolean = Maybe;
  using bits32 = std::uint32_t;
  using constant = Bounded;
};

}  // namespace stipple
