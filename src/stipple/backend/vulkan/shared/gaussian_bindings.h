// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/backend/backend.h"
#include "stipple/backend/vulkan/shared/kernel_run.h"

namespace stipple::vulkan {

constexpr std::size_t kGaussianGroup =
    64;  // Gaussians of a work group, in the kernels with shared/gaussian.glsl

// The most bytes that a Gaussian has in any array that these kernels use.
inline std::size_t window_bytes(const DeviceGaussians& g) {
  return std::max(sizeof(ProjectedSplat), static_cast<std::size_t>(g.sh_count()) * sizeof(Vec3f));
}

// Binds the rows of Gaussians [first, first + count) of every parameter array.
template <class Arrays>
void bind_parameters(Arrays& arrays, std::size_t first, std::size_t count, KernelRun& kernel) {
  for_each_parameter(
      [&](int per_gaussian, auto& array) {
        const auto n = static_cast<std::size_t>(per_gaussian);
        kernel.window(array, first * n, count * n);
      },
      arrays);
}

// The same for the moments. At degree 0, sh_rest is empty and bound as such.
inline void bind_moments(AdamMoments& m, std::size_t first, std::size_t count, KernelRun& kernel) {
  const auto rest = static_cast<std::size_t>(m.sh_rest_count());
  kernel.window(m.mean, first * 3, count * 3)
      .window(m.log_scale, first * 3, count * 3)
      .window(m.rotation, first * 4, count * 4)
      .window(m.logit_opacity, first, count)
      .window(m.sh_base, first * 3, count * 3)
      .window(m.sh_rest, first * rest, count * rest);
}

// Bindings 1 to 8 of shared/gaussian.glsl.
inline void bind_gaussians(const DeviceGaussians& g, const Precomputed& given, std::size_t first,
                           std::size_t count, KernelRun& kernel) {
  bind_parameters(g, first, count, kernel);
  kernel.window(given.color, first, count)
      .window(given.covariance, first, count)
      .window(given.filter_variance, first, count);
}

}  // namespace stipple::vulkan
