// SPDX-License-Identifier: Apache-2.0
#include "stipple/core/nearest_name.h"

#include <algorithm>
#include <vector>

namespace stipple {

namespace {

// The optimal string alignment distance: Levenshtein's, with swaps of neighbouring letters.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      const std::size_t substitution = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, substitution});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest_name(std::string_view mistyped, std::span<const std::string> names) {
  std::string nearest;
  std::size_t least = mistyped.size() / 3 + 1;
  for (const std::string& name : names) {
    const std::size_t distance = edit_distance(mistyped, name);
    if (distance > least || (distance == least && !nearest.empty())) continue;
    if (distance > std::max<std::size_t>(1, name.size() / 3)) continue;
    nearest = name;
    least = distance;
  }
  return nearest;
}

}  // namespace stipple
