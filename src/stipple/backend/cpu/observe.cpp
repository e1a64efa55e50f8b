// SPDX-License-Identifier: Apache-2.0
// observe: a view's gradients into the statistics that density control decides by.
#include <atomic>
#include <cassert>

#include "stipple/backend/cpu/cpu_backend.h"
#include "stipple/backend/render_settings.h"
#include "stipple/core/parallel.h"

namespace stipple {

namespace {

constexpr std::size_t kGrain = 4096;

bool is_finite(const Splat& s) {
  const float* v = reinterpret_cast<const float*>(&s);
  float zero = 0;  // stays so unless one is infinite or not a number
  for (std::size_t i = 0; i < sizeof(Splat) / sizeof(float); ++i) zero += v[i] * 0;
  return zero == 0;
}

bool all_finite(std::span<const Splat> gradients) {
  std::atomic<bool> finite = true;
  parallel_ranges(gradients.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    bool good = true;
    for (std::size_t i = begin; i < end; ++i) good &= is_finite(gradients[i]);
    if (!good) finite = false;
  });
  return finite;
}

}  // namespace

bool CpuBackend::observe(const Projection& projection, const SplatGradient& dL_dsplat, const View& view,
                         DensityStatistics& statistics) {
  auto splats = host(projection.splat);
  auto gradients = host(dL_dsplat.splat);
  auto absolute = host(dL_dsplat.absolute_mean_px);
  auto sum = host(statistics.sum);
  assert(sum.size() == splats.size());
  if (!all_finite(gradients)) return false;
  const Vec2f half_size = half_size_of(view.camera);
  parallel_for(
      splats.size(),
      [&](std::size_t i) {
        if (!(splats[i].splat.opacity > 0)) return;
        const Vec2f g = absolute.empty() ? gradients[i].mean_px : absolute[i];
        sum[i] = sum[i] + Math<float>::density_observation(g, half_size);
      },
      kGrain);
  return true;
}

}  // namespace stipple
