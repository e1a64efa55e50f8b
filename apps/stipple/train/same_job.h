// SPDX-License-Identifier: Apache-2.0
#pragma once
// Whether the processes that a launcher has started together were given the same work. All ranks call these
// functions, which throw the same Error on all of them if they were not.
#include <string>

#include "stipple/options/run_options.h"
#include "stipple/ranks/ranks.h"
#include "stipple/ranks/require_same.h"

namespace stipple {

// The arguments of the command. The program's version is compared with them.
void require_same_arguments(Ranks& ranks, std::vector<Fact> arguments);

// The options as they were resolved, and what the scene holds: the folders of two machines may differ. Only
// options of the machine may differ.
void require_same_training(Ranks& ranks, const RunOptions& options, const Scene& scene);

}  // namespace stipple
