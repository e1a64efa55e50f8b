// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where the splats of a warp's Gaussians are.
#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/cuda_pass.h"
#include "stipple/backend/cuda/shared/kernel.cuh"

namespace stipple::cuda {

static_assert(VisibleBlock::kGaussians == kWarp, "a warp has the Gaussians of one block");

struct LaneRow {
  bool is_shown;
  unsigned row;  // of this Gaussian or of the next one that is shown
};

// Of Gaussian i, which must be that of this lane in its warp.
__device__ inline LaneRow row_of_lane(const VisibleBlock* visible, unsigned i, unsigned gaussian_count) {
  const unsigned lane = static_cast<unsigned>(lane_index());
  if (i - lane >= gaussian_count) return {false, 0};
  const uint2 block = reinterpret_cast<const uint2*>(visible)[i / kWarp];
  return {(block.x >> lane & 1) != 0, block.y + __popc(block.x & ((1u << lane) - 1))};
}

// The row of the warp's first Gaussian that is shown.
__device__ inline std::size_t first_row_of_warp(LaneRow of_lane) {
  return __shfl_sync(kAllLanes, of_lane.row, 0);
}

// Copies of the coefficients of what the view shows, in the first rows of its splats; null if there are none.
struct ShownCopies {
  const float* row;
  unsigned count;
};

inline ShownCopies shown_copies(const CudaPass& pass, int sh_degree) {
  const DeviceArray<float>& copies = pass.shown_coefficients;
  return {pointer(copies), static_cast<unsigned>(copies.size() / coefficient_floats(sh_degree))};
}

// The number of rows that project has written: none if there was not room for all of them.
__device__ inline unsigned written_rows(const ViewStatus* status, unsigned capacity) {
  return status->splat_count > capacity ? 0 : status->splat_count;
}

}  // namespace stipple::cuda
