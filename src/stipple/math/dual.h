// SPDX-License-Identifier: Apache-2.0
#pragma once
// Forward-mode dual numbers: a value and its exact derivatives with respect to N inputs. They serve gradient
// checks and Newton's method; kernels have hand-written derivatives.
#include <array>
#include <cmath>

namespace stipple {

template <int N>
struct Dual {
  double value = 0;
  std::array<double, N> d{};  // d[i] = derivative of value with respect to input i

  constexpr Dual() = default;
  constexpr Dual(double v) : value(v) {}                    // a constant
  constexpr Dual(double v, int i) : value(v) { d[i] = 1; }  // input number i

  friend constexpr Dual chain(const Dual& a, double f, double df) {  // from f(a) and f'(a)
    Dual r(f);
    for (int i = 0; i < N; ++i) r.d[i] = df * a.d[i];
    return r;
  }
  friend constexpr Dual operator+(Dual a, const Dual& b) {
    a.value += b.value;
    for (int i = 0; i < N; ++i) a.d[i] += b.d[i];
    return a;
  }
  friend constexpr Dual operator-(Dual a, const Dual& b) {
    a.value -= b.value;
    for (int i = 0; i < N; ++i) a.d[i] -= b.d[i];
    return a;
  }
  friend constexpr Dual operator-(const Dual& a) { return chain(a, -a.value, -1); }
  friend constexpr Dual operator*(const Dual& a, const Dual& b) {
    Dual r(a.value * b.value);
    for (int i = 0; i < N; ++i) r.d[i] = a.d[i] * b.value + a.value * b.d[i];
    return r;
  }
  friend constexpr Dual operator/(const Dual& a, const Dual& b) {
    return a * chain(b, 1 / b.value, -1 / (b.value * b.value));
  }
  friend Dual sqrt(const Dual& a) {
    double s = std::sqrt(a.value);
    return chain(a, s, 0.5 / s);
  }
  friend Dual exp(const Dual& a) {
    double e = std::exp(a.value);
    return chain(a, e, e);
  }
  friend Dual log(const Dual& a) { return chain(a, std::log(a.value), 1 / a.value); }
  friend Dual cos(const Dual& a) { return chain(a, std::cos(a.value), -std::sin(a.value)); }
  friend Dual sin(const Dual& a) { return chain(a, std::sin(a.value), std::cos(a.value)); }
  friend Dual abs(const Dual& a) { return a.value < 0 ? chain(a, -a.value, -1) : a; }
  friend Dual floor(const Dual& a) { return Dual(std::floor(a.value)); }
  friend constexpr Dual select(bool condition, const Dual& a, const Dual& b) { return condition ? a : b; }
  friend constexpr bool operator<(const Dual& a, const Dual& b) { return a.value < b.value; }
  friend constexpr bool operator>(const Dual& a, const Dual& b) { return a.value > b.value; }
  friend constexpr bool operator<=(const Dual& a, const Dual& b) { return a.value <= b.value; }
  friend constexpr bool operator>=(const Dual& a, const Dual& b) { return a.value >= b.value; }
  friend constexpr bool operator==(const Dual& a, const Dual& b) { return a.value == b.value; }
};

}  // namespace stipple
