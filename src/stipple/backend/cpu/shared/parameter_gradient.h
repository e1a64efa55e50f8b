// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "stipple/core/gaussians.h"

namespace stipple::cpu {

// Pointers to the gradients of a range of Gaussians, as plain floats; null if absent.
struct ParameterGradient : GaussianArrays<FloatPointer> {
  float *color = nullptr, *covariance = nullptr;

  ParameterGradient from(std::size_t gaussian) const;  // the range starting at this Gaussian
};

// Calls f(floats per Gaussian, field of each argument...) for every field, precomputed inputs included.
template <class F, class First, class... Rest>
void for_each_gradient(F f, First& first, Rest&... rest) {
  GaussianArrays<Element> elements;
  elements.sh_degree = first.sh_degree;
  for_each_parameter(
      [&](int per_gaussian, auto element, auto&... field) {
        f(static_cast<std::size_t>(per_gaussian) * element.kFloats, field...);
      },
      elements, first, rest...);
  f(std::size_t{3}, first.color, rest.color...);
  f(std::size_t{6}, first.covariance, rest.covariance...);
}

}  // namespace stipple::cpu
