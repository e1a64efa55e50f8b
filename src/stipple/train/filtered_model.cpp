// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/filtered_model.h"

#include <algorithm>
#include <cmath>

#include "stipple/core/parallel.h"

namespace stipple {

namespace {

constexpr std::size_t kGrain = 1 << 12;
constexpr double kLeastLogit = -100;  // instead of the logit of 0, which is infinite

// In double, because the logit of an opacity near 1 needs more digits than float has.
void filter(float variance, double scale_modifier, Vec3f& log_scale, float& logit_opacity) {
  using M = Math<double>;
  if (!(variance > 0)) return;
  const Vec3<double> own(log_scale.x, log_scale.y, log_scale.z);
  const M::Filtered f = M::filtered(M::scale_from_log(own, scale_modifier), static_cast<double>(variance));
  for (int k = 0; k < 3; ++k) log_scale[k] = static_cast<float>(std::log(f.scale[k] / scale_modifier));
  const double logit = M::logit(M::sigmoid(static_cast<double>(logit_opacity)) * f.dimming);
  // A filter makes nothing more opaque, even where the opacity is 1 in double.
  logit_opacity = std::min(logit_opacity, static_cast<float>(std::max(logit, kLeastLogit)));
}

// The smallest variance before the filter, as a share of the filter's: first one that changes the filtered
// size by 3 % only. A filter dims what is smaller than itself, so that what is to be opaque needs more.
constexpr double kLeastShares[] = {1.0 / 16, 1.0 / 4, 1};
constexpr double kMostOpacity = 0.9999;  // at 1, the gradient of the logit would vanish

void unfilter(float variance, double scale_modifier, Vec3f& log_scale, float& logit_opacity) {
  using M = Math<double>;
  if (!(variance > 0)) return;
  const double v = static_cast<double>(variance), opacity = M::sigmoid(static_cast<double>(logit_opacity));
  const Vec3<double> own(log_scale.x, log_scale.y, log_scale.z);
  const Vec3<double> filtered = M::scale_from_log(own, scale_modifier);
  for (const double share : kLeastShares) {
    Vec3<double> scale;
    for (int k = 0; k < 3; ++k) scale[k] = std::sqrt(std::max(filtered[k] * filtered[k] - v, share * v));
    const double wanted = opacity / M::filtered(scale, v).dimming;
    for (int k = 0; k < 3; ++k) log_scale[k] = static_cast<float>(std::log(scale[k] / scale_modifier));
    logit_opacity = static_cast<float>(std::max(M::logit(std::min(wanted, kMostOpacity)), kLeastLogit));
    if (wanted <= kMostOpacity) return;
  }
}

}  // namespace

void apply_filter(std::span<const float> filter_variance, float scale_modifier, std::span<Vec3f> log_scale,
                  std::span<float> logit_opacity) {
  parallel_for(
      filter_variance.size(),
      [&](std::size_t i) {
        filter(filter_variance[i], static_cast<double>(scale_modifier), log_scale[i], logit_opacity[i]);
      },
      kGrain);
}

void remove_filter(std::span<const float> filter_variance, float scale_modifier, std::span<Vec3f> log_scale,
                   std::span<float> logit_opacity) {
  parallel_for(
      filter_variance.size(),
      [&](std::size_t i) {
        unfilter(filter_variance[i], static_cast<double>(scale_modifier), log_scale[i], logit_opacity[i]);
      },
      kGrain);
}

DeviceGaussians filtered_model(Backend& backend, const DeviceGaussians& model,
                               const DeviceArray<float>& filter_variance, float scale_modifier) {
  std::vector<Vec3f> log_scale = model.log_scale.download(backend);
  std::vector<float> logit_opacity = model.logit_opacity.download(backend);
  apply_filter(filter_variance.download(backend), scale_modifier, log_scale, logit_opacity);
  DeviceGaussians result;
  result.sh_degree = model.sh_degree;
  result.mean = borrowed(backend, model.mean);
  result.rotation = borrowed(backend, model.rotation);
  result.sh = borrowed(backend, model.sh);
  result.log_scale.upload(backend, log_scale);
  result.logit_opacity.upload(backend, logit_opacity);
  return result;
}

}  // namespace stipple
