// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <numeric>
#include <vector>

#include "stipple/scene/scene.h"

namespace stipple {

inline std::vector<std::size_t> all_views(const Scene& scene) {
  std::vector<std::size_t> all(scene.views.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace stipple
