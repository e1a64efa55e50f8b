// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <span>

#include "stipple/backend/pass.h"

namespace stipple::cpu {

// The contribution of one view to the density statistics, per Gaussian.
class DensityStatistics {
 public:
  DensityStatistics(const View&, const Pass&);

  bool is_seen(std::size_t gaussian) const { return splats_[gaussian].splat.opacity > 0; }
  Vec2f of(std::size_t gaussian) const;  // zero if it is not visible

 private:
  Vec2f half_size_;
  std::span<const ProjectedSplat> splats_;
  std::span<const Splat> dL_dsplat_;
  std::span<const Vec2f> absolute_;  // empty if not wanted
};

}  // namespace stipple::cpu
