// SPDX-License-Identifier: Apache-2.0
#include "stipple/backend/cpu/shared/gaussian_group.h"

#include <algorithm>

namespace stipple::cpu {

GaussianGroup GaussianGroups::block(std::size_t first, Padded& padded) const {
  GaussianGroup b = all_;
  b.index = static_cast<std::uint32_t>(first);
  std::size_t count = std::min<std::size_t>(count_ - first, kMaxGroup);
  auto place = [&](const float*& array, std::size_t per_gaussian, float* pad) {
    if (!array) return;
    array += first * per_gaussian;
    if (count == kMaxGroup) return;
    for (std::size_t i = 0; i < kMaxGroup; ++i)  // pad with copies of the first: any Gaussian will do
      std::copy_n(array + (i < count ? i : 0) * per_gaussian, per_gaussian, pad + i * per_gaussian);
    array = pad;
  };
  place(b.mean, 3, padded.mean);
  place(b.log_scale, 3, padded.log_scale);
  place(b.rotation, 4, padded.rotation);
  place(b.logit_opacity, 1, padded.logit_opacity);
  place(b.sh, 3 * b.sh_count, padded.sh);
  place(b.color, 3, padded.color);
  place(b.covariance, 6, padded.covariance);
  place(b.filter_variance, 1, padded.filter_variance);
  return b;
}

}  // namespace stipple::cpu
