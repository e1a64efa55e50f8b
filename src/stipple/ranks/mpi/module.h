// SPDX-License-Identifier: Apache-2.0
#pragma once
// What stipple_mpi.so exports.
#include <functional>

#include "stipple/ranks/launched_ranks.h"

namespace stipple {

// The caller owns the result. Throws Error.
using MakeMpiRanks = LaunchedRanks* (*)(std::function<bool()> is_interrupted);
inline constexpr const char* kMpiModule = "stipple_mpi.so";
inline constexpr const char* kMakeMpiRanks = "stipple_make_mpi_ranks";

}  // namespace stipple
