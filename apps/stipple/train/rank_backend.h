// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "apps/stipple/train/run_on_ranks.h"
#include "stipple/backend/backend.h"
#include "stipple/options/run_options.h"

namespace stipple {

// The backend that a run's options ask for. The ranks of a machine take its devices in turn, unless the
// options name one. Those that share a device share its memory evenly. All ranks call it. Throws Error on all
// of them unless all find the same backend.
std::unique_ptr<Backend> make_rank_backend(const RunOptions& options, const RankPlace& place);

}  // namespace stipple
