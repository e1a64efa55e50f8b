// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <utility>

namespace stipple {

// Counts the entries of one kind that were left out.
struct Dropped {
  std::size_t count = 0;
  std::string first;  // name of the first one

  void add(std::string name) {
    if (count++ == 0) first = std::move(name);
  }
};

}  // namespace stipple
