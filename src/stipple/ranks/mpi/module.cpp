// SPDX-License-Identifier: Apache-2.0
#include "stipple/ranks/mpi/module.h"

#include "stipple/ranks/mpi/mpi_ranks.h"

extern "C" stipple::LaunchedRanks* stipple_make_mpi_ranks(std::function<bool()> is_interrupted) {
  return new stipple::MpiRanks(std::move(is_interrupted));
}
