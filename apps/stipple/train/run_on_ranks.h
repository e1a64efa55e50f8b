// SPDX-License-Identifier: Apache-2.0
#pragma once
// A run as one process, or as several that a launcher of MPI has started (docs/scaling.md).
#include <functional>

#include "stipple/ranks/ranks.h"

namespace stipple {

struct RankPlace {
  Ranks& ranks;
  int local_rank = 0, local_count = 1;  // among the ranks of this machine

  bool is_first() const { return ranks.rank() == 0; }
  bool is_alone() const { return ranks.count() == 1; }
};

// Calls work with the ranks of the launcher, or with one_rank(). When the work fails on one of several ranks,
// each says why it ends: the one that has failed, and those that cannot go on without it. Before the work has
// set `is_under_way`, when errors are mostly those of the user, only one speaks for all.
void run_on_ranks(const std::function<void(const RankPlace&, bool& is_under_way)>& work);

}  // namespace stipple
