// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <vector>

#include "stipple/ranks/ranks.h"

namespace stipple {

struct Fact {
  std::string name, value;  // "the scene", "garden/"
};

// All ranks call it with facts that must be the same on all of them. If one is not, all throw the same Error,
// which names it. `advice` ends the sentence.
void require_same(Ranks& ranks, const std::vector<Fact>& facts, const std::string& advice);

}  // namespace stipple
