// SPDX-License-Identifier: Apache-2.0
#pragma once
// Adam's moments as numbers, and one step of Adam with the moments as they are stored, value by value.
#include "stipple/backend/adam_rule.h"
#include "stipple/backend/backend.h"

namespace stipple {

// Calls f(array of words, place, floats of each argument...) for every array of moments; place(i) is the
// place of word i's value among the floats of its parameter.
template <class F, class Moments, class... Parameters>
void for_each_moment_of(F f, Moments& m, Parameters&... of) {
  const auto all = [](std::size_t i) { return i; };
  const auto rest = static_cast<std::size_t>(m.sh_rest_count());
  const auto numbers = [](auto& array) { return array.empty() ? nullptr : &array[0].x; };
  f(m.mean, all, numbers(of.mean)...);
  f(m.log_scale, all, numbers(of.log_scale)...);
  f(m.rotation, all, numbers(of.rotation)...);
  f(m.logit_opacity, all, of.logit_opacity.data()...);
  f(
      m.sh_base, [rest](std::size_t i) { return i / 3 * (3 + rest) + i % 3; }, numbers(of.sh)...);
  f(
      m.sh_rest, [rest](std::size_t i) { return i / rest * (3 + rest) + 3 + i % rest; }, numbers(of.sh)...);
}

inline Math<float>::AdamParameter unpacked(float value, std::uint32_t word) {
  return Math<float>::with_wide_moments(value, word);
}
inline Math<float>::AdamParameter unpacked(float value, std::uint16_t word) {
  return Math<float>::with_narrow_moments(value, word);
}
inline void pack(const Math<float>::AdamParameter& p, std::uint32_t random, std::uint32_t& word) {
  word = Math<float>::wide_moments(p, random);
}
inline void pack(const Math<float>::AdamParameter& p, std::uint32_t random, std::uint16_t& word) {
  word = static_cast<std::uint16_t>(Math<float>::narrow_moments(p, random));
}

struct DecodedMoments {
  Gaussians first, second;
};

inline DecodedMoments decoded(const HostMoments& moments) {
  DecodedMoments out{make_gaussians(moments.size(), moments.sh_degree), {}};
  out.second = out.first;
  for_each_moment_of(
      [](const auto& words, auto place, float* first, float* second) {
        for (std::size_t i = 0; i < words.size(); ++i) {
          const Math<float>::AdamParameter p = unpacked(0, words[i]);
          first[place(i)] = p.first_moment;
          second[place(i)] = p.second_moment;
        }
      },
      moments, out.first, out.second);
  return out;
}

inline DecodedMoments decoded(const Backend& backend, const AdamMoments& moments) {
  return decoded(download(backend, moments));
}

inline bool same_bits(const HostMoments& a, const HostMoments& b) {
  bool same = a.sh_degree == b.sh_degree;
  for_each_moment([&](int, const auto& x, const auto& y) { same = same && x == y; }, a, b);
  return same;
}

inline bool same_bits(const Backend& backend, const AdamMoments& a, const AdamMoments& b) {
  return same_bits(download(backend, a), download(backend, b));
}

inline bool are_zero(const HostMoments& moments) {
  bool zero = true;
  for_each_moment(
      [&](int, const auto& words) {
        for (const auto word : words) zero = zero && word == 0;
      },
      moments);
  return zero;
}

}  // namespace stipple
