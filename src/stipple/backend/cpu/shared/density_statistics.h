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

  bool is_seen(std::size_t gaussian) const {
    const VisibleBlock& block = block_of(gaussian);
    return block.shows(place_of(gaussian)) && splats_[block.row(place_of(gaussian))].splat.opacity > 0;
  }
  Vec2f of(std::size_t gaussian) const;  // zero if it is not visible

 private:
  const VisibleBlock& block_of(std::size_t gaussian) const {
    return visible_[gaussian / VisibleBlock::kGaussians];
  }
  static std::size_t place_of(std::size_t gaussian) { return gaussian % VisibleBlock::kGaussians; }

  Vec2f half_size_;
  std::span<const VisibleBlock> visible_;
  std::span<const ProjectedSplat> splats_;
  std::span<const Splat> dL_dsplat_;
  std::span<const Vec2f> absolute_;  // empty if not wanted
};

}  // namespace stipple::cpu
