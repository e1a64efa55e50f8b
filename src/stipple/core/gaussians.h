// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "stipple/math/vec.h"

namespace stipple {

// N Gaussians as a structure of arrays of any kind: host vectors, device arrays or pointers. Values are
// stored unconstrained, as they are optimised; the names tell which function maps them to the values used.
template <template <class> class Array>
struct GaussianArrays {
  Array<Vec3f> mean{};           // world frame, scene units
  Array<Vec3f> log_scale{};      // scale = exp(log_scale): standard deviations along the Gaussian's axes
  Array<Vec4f> rotation{};       // world_from_gaussian, quaternion (w, x, y, z) of any length
  Array<float> logit_opacity{};  // opacity = sigmoid(logit_opacity)
  Array<Vec3f> sh{};             // RGB coefficients, [gaussian * sh_count() + k]; k = 0 is the base colour
  int sh_degree = 0;             // 0 to 3

  std::size_t size() const { return mean.size(); }
  int sh_count() const { return (sh_degree + 1) * (sh_degree + 1); }
};

// Calls f(elements per Gaussian, array of each argument ...) for every field: the one list of parameters.
template <class F, class First, class... Rest>
void for_each_parameter(F f, First& first, Rest&... rest) {
  f(1, first.mean, rest.mean...);
  f(1, first.log_scale, rest.log_scale...);
  f(1, first.rotation, rest.rotation...);
  f(1, first.logit_opacity, rest.logit_opacity...);
  f(first.sh_count(), first.sh, rest.sh...);
}

// Other kinds of Array: pointers for kernels, and the number of floats in an element.
template <class T>
using Pointer = T*;
template <class T>
using ConstPointer = const T*;
template <class T>
using FloatPointer = float*;
template <class T>
struct Element {
  static constexpr std::size_t kFloats = sizeof(T) / sizeof(float);
};

template <class T>
using HostArray = std::vector<T>;

using Gaussians = GaussianArrays<HostArray>;

// `count` Gaussians of this degree, with all values zero.
inline Gaussians make_gaussians(std::size_t count, int sh_degree) {
  Gaussians g;
  g.sh_degree = sh_degree;
  for_each_parameter(
      [count](int per_gaussian, auto& array) {
        array.assign(count * static_cast<std::size_t>(per_gaussian), {});
      },
      g);
  return g;
}

}  // namespace stipple
