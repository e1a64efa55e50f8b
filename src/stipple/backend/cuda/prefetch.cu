// SPDX-License-Identifier: Apache-2.0
// prefetch: copies coefficients that lie on the host to the device, of the Gaussians that the next view is
// expected to show: those that it would show now. This happens on a stream of its own, while the stages after
// project run. Those that the present view shows are left out, since its update changes them: project reads
// them in place, like all others that are missing.
#include <algorithm>
#include <optional>

#include "stipple/backend/cuda/cuda_backend.h"
#include "stipple/backend/cuda/shared/find_visible.cuh"
#include "stipple/backend/render_settings.h"

namespace stipple::cuda {

namespace {

constexpr int kFetchThreads = 256;
// Enough to keep the bus busy, and few, so that they leave the multiprocessors to the other stream.
constexpr unsigned kFetchBlocks = 128;

// A warp copies the rows of one block of Gaussians after another. All loads of a block are issued before the
// first store.
template <int kDegree>
__global__ void __launch_bounds__(kFetchThreads)
    fetch_kernel(const float* sh, const VisibleBlock* visible, unsigned block_count, unsigned row_count,
                 float* to) {
  using Rows = CoefficientRows<kDegree>;
  const unsigned warps = gridDim.x * kFetchThreads / kWarp;
  for (unsigned w = (blockIdx.x * kFetchThreads + threadIdx.x) / kWarp; w < block_count; w += warps) {
    const LaneRow at = row_of_lane(visible, w * kWarp + lane_index(), block_count * kWarp);
    const unsigned fetched = __ballot_sync(kAllLanes, at.is_shown && at.row < row_count);
    if (fetched == 0) continue;
    const auto* from = Rows::as_parts(sh + static_cast<std::size_t>(w) * kWarp * Rows::kFloats);
    auto* rows = Rows::as_parts(to + first_row_of_warp(at) * Rows::kFloats);
    typename Rows::Part part[Rows::kParts];
#pragma unroll
    for (int k = 0; k < Rows::kParts; ++k) {
      const int i = k * kWarp + lane_index();
      if (fetched >> (i / Rows::kParts) & 1) part[k] = from[i];
    }
#pragma unroll
    for (int k = 0; k < Rows::kParts; ++k) {
      const int i = k * kWarp + lane_index(), row = i / Rows::kParts;
      if (fetched >> row & 1) rows[dense_row(fetched, row) * Rows::kParts + i % Rows::kParts] = part[k];
    }
  }
}

}  // namespace

void CudaBackend::prefetch(const DeviceGaussians& gaussians, const Precomputed& precomputed, const View& view,
                           Pass& pass) {
  const DeviceGuard guard(*context_);
  CudaPass& mine = own(pass);
  FetchedCoefficients& to = mine.fetched;
  to.work.join();
  to.host_state = 0;
  const GaussianPointers g = pointers(gaussians, precomputed, view);
  const std::size_t blocks = visible_block_count(g.count);
  const std::optional<BinRoom> room = mine.rooms.predict(view.id);
  if (g.count == 0 || g.color || !room || !is_on_host(g.sh) || !mine.may_copy_coefficients ||
      pass.projection.visible.size() != blocks)
    return;
  const std::size_t rows = std::min({room->splats, gaussians.size(), most_coefficient_rows(g.sh_degree)});
  if (rows == 0) return;
  try {
    to.visible.resize(*this, blocks);
    to.row.resize(*this, rows * coefficient_floats(g.sh_degree));
  } catch (const OutOfMemory&) {  // then they are read in place
    to.visible.release();
    to.row.release();
    return;
  }
  // Nothing is changed between the views of a batch.
  const VisibleBlock* const without = mine.view_count == 1 ? pointer(pass.projection.visible) : nullptr;
  with_form(g, [&](auto degree, auto is_altered) {
    find_visible_kernel<is_altered()><<<blocks_for(g.count, kFindThreads), kFindThreads, 0, stream()>>>(
        g, pinhole(view.camera), render_settings(view.options), without, pointer(to.visible));
    scan_rows(mine, to.visible);
    const cudaStream_t beside = to.work.begin();
    fetch_kernel<degree()><<<kFetchBlocks, kFetchThreads, 0, beside>>>(
        g.coefficients(), pointer(to.visible), static_cast<unsigned>(blocks), static_cast<unsigned>(rows),
        pointer(to.row));
  });
  check(cudaGetLastError(), "launch prefetch");
  to.from = g.coefficients();
  to.host_state = context_->host_state();
}

}  // namespace stipple::cuda
