// SPDX-License-Identifier: Apache-2.0
#include "stipple/edit/join.h"

#include <algorithm>
#include <utility>

#include "stipple/edit/sh_degree.h"

namespace stipple {

void append(Gaussians more, Gaussians& gaussians) {
  const int degree = std::max(gaussians.sh_degree, more.sh_degree);
  set_sh_degree(gaussians, degree);
  set_sh_degree(more, degree);
  for_each_parameter(
      [](int, auto& to, auto& from) {
        to.reserve(to.size() + from.size());  // exactly: insert() might take twice as much
        to.insert(to.end(), from.begin(), from.end());
        from = {};
      },
      gaussians, more);
}

}  // namespace stipple
