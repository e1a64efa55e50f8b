// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/sh_degree.h"

#include <algorithm>
#include <cassert>
#include <cstddef>

namespace stipple {

void set_sh_degree(Gaussians& gaussians, int degree) {
  assert(0 <= degree && degree <= 3);
  const auto from = static_cast<std::size_t>(gaussians.sh_count());
  gaussians.sh_degree = degree;
  const auto to = static_cast<std::size_t>(gaussians.sh_count());
  const std::size_t count = gaussians.size();
  std::vector<Vec3f>& sh = gaussians.sh;
  if (to < from) {  // each row moves towards the front
    for (std::size_t i = 1; i < count; ++i) std::copy_n(sh.data() + i * from, to, sh.data() + i * to);
    sh.resize(count * to);
    sh.shrink_to_fit();
  } else if (to > from) {  // each row moves towards the back, so the last one goes first
    sh.resize(count * to);
    for (std::size_t i = count; i-- > 0;) {
      std::copy_backward(sh.data() + i * from, sh.data() + (i + 1) * from, sh.data() + i * to + from);
      std::fill(sh.data() + i * to + from, sh.data() + (i + 1) * to, Vec3f{});
    }
  }
}

}  // namespace stipple
