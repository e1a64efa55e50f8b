// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#include <cstdint>

#include "stipple/core/device.h"

namespace stipple {

// Both moments of every parameter, as math/moments.glsl stores them, in arrays of any kind: a word of 32 bits
// for each number of a position, scale, rotation, opacity and base colour, and one of 16 bits for each of the
// other SH coefficients. Zero means zero moments.
template <template <class> class Array>
struct MomentArrays {
  Array<std::uint32_t> mean{}, log_scale{}, rotation{}, logit_opacity{}, sh_base{};
  Array<std::uint16_t> sh_rest{};  // [gaussian * sh_rest_count() + 3 * (k - 1) + channel]
  int sh_degree = 0;

  std::size_t size() const { return logit_opacity.size(); }
  int sh_rest_count() const { return 3 * (sh_degree + 2) * sh_degree; }  // per Gaussian
};

// Calls f(words per Gaussian, array of each argument...) for every array: the one list of them. At degree 0,
// there is no sh_rest.
template <class F, class First, class... Rest>
void for_each_moment(F f, First& first, Rest&... rest) {
  f(3, first.mean, rest.mean...);
  f(3, first.log_scale, rest.log_scale...);
  f(4, first.rotation, rest.rotation...);
  f(1, first.logit_opacity, rest.logit_opacity...);
  f(3, first.sh_base, rest.sh_base...);
  if (first.sh_degree > 0) f(first.sh_rest_count(), first.sh_rest, rest.sh_rest...);
}

using HostMoments = MomentArrays<HostArray>;
using AdamMoments = MomentArrays<DeviceArray>;

// Replaces arrays, each in its place.
inline void reset_moments(Device& device, std::size_t gaussians, int sh_degree, AdamMoments& moments) {
  moments.sh_degree = sh_degree;
  for_each_moment(
      [&](int per_gaussian, auto& array) {
        array.resize_zero(device, gaussians * static_cast<std::size_t>(per_gaussian));
      },
      moments);
}

inline AdamMoments zero_moments(Device& device, std::size_t gaussians, int sh_degree) {
  AdamMoments moments;
  reset_moments(device, gaussians, sh_degree, moments);
  return moments;
}

inline void upload(Device& device, const HostMoments& from, AdamMoments& to) {
  to.sh_degree = from.sh_degree;
  for_each_moment([&](int, auto& target, const auto& source) { target.upload(device, source); }, to, from);
}

inline AdamMoments upload(Device& device, const HostMoments& from) {
  AdamMoments to;
  upload(device, from, to);
  return to;
}

inline HostMoments download(const Device& device, const AdamMoments& from) {
  HostMoments to;
  to.sh_degree = from.sh_degree;
  for_each_moment([&](int, auto& target, const auto& source) { target = source.download(device); }, to, from);
  return to;
}

}  // namespace stipple
