// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the CUDA backend keeps in a pass: the data that its stages exchange beyond the public structs, their
// scratch memory, and the status that the host reads at the end.
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/backend/bin_room.h"
#include "stipple/backend/cuda/runtime/device_memory.h"
#include "stipple/backend/cuda/runtime/side_work.h"
#include "stipple/backend/cuda/runtime/stage_events.h"

namespace stipple::cuda {

// A view's status, shared by its kernels and read by the host at the end of the pass.
struct ViewStatus {
  unsigned has_overflowed;  // splats, Gaussians or pairs exceeded the capacity
  unsigned is_bad;          // a loss or a gradient was not finite
  LossValue loss;
  unsigned long long pair_count;  // of Gaussian and tile
  unsigned splat_count;           // that the view shows
  unsigned gaussian_count;        // that touch a tile
  unsigned chunk_count;           // stored by blend, without each tile's first
  float camera[kCameraFields];
  Vec3f background;
};

struct Chunk {  // of a tile with many slots, see chunk.h
  std::uint32_t tile, slot_begin;
};

// blend -> blend_backward: all chunks but each tile's first, in no particular order; the state of the pixels
// at their starts; and the slot at which blending of each tile ended.
struct ChunkList {
  DeviceArray<Chunk> chunks;
  DeviceArray<float> checkpoint;
  DeviceArray<std::uint32_t> slot_end_from_tile;
};

// Of a Gaussian.
constexpr std::size_t coefficient_floats(int sh_degree) {
  return 3 * static_cast<std::size_t>((sh_degree + 1) * (sh_degree + 1));
}

// prefetch -> project: coefficients that lie on the host, of Gaussians that the next view is expected to
// show.
struct FetchedCoefficients {
  DeviceArray<VisibleBlock> visible;  // these Gaussians and their rows, of which only the first are here
  DeviceArray<float> row;
  const float* from = nullptr;   // the coefficients of the model
  std::uint64_t host_state = 0;  // CudaContext::host_state() for which they are right; 0 if there are none
  SideWork work;                 // that fetches them; last, so that it is waited for before the arrays go

  explicit FetchedCoefficients(const std::shared_ptr<CudaContext>& context) : work(context) {}
};

struct CudaPass : PassScratch {
  explicit CudaPass(const std::shared_ptr<CudaContext>& context)
      : arena(context), host_status(context), fetched(context) {}

  // project -> bin: how many tiles a splat touches, and the bits of its depth (all set if it touches none),
  // in its row
  DeviceArray<std::uint32_t> tile_count, depth_key;

  // bin -> blend_backward; empty unless the order of sums is fixed
  DeviceArray<std::uint32_t> pair_from_slot;
  DeviceArray<PairRange> pairs_from_splat;

  ChunkList chunks;          // of the frame; the view's status has their number
  bool has_blended = false;  // blend has run for this view, so its status already counts chunks

  // project -> project_backward: the coefficients of the Gaussians that the view shows, in the rows of their
  // splats and as many rows as there may be, if those of the model lie on the host; otherwise empty
  DeviceArray<float> shown_coefficients;
  bool may_copy_coefficients = true;  // until a step has run out of memory

  // blend_backward -> project_backward: a row of sums per splat, or per pair
  DeviceArray<float> sums;
  int sums_stride = 0;
  std::uint32_t sums_stamp = 0;
  // The splats' gradients have not been written; the next stage reads the sums instead.
  bool sums_are_pending = false;
  bool sums_have_fourth = false, sums_have_absolute = false;

  // loss
  DeviceArray<double> loss_sums;
  DeviceArray<unsigned> loss_blocks_done;

  DeviceArray<double> camera_sums;  // project_backward

  Arena arena;
  struct {  // scratch bytes of CUB in project
    std::size_t blocks = 0, bytes = 0;
  } row_scan;

  DeviceArray<ViewStatus> status;  // one per view
  PinnedBlock host_status;
  int view_count = 0;         // in this pass
  std::vector<int> view_ids;  // of the views projected so far
  RoomPredictor rooms;
  StageEvents events;
  FetchedCoefficients fetched;

  // The status of the current view.
  ViewStatus* view_status();
  bool keeps_scratch() const { return !view_ids.empty() && view_ids.back() != kNoView; }
};

}  // namespace stipple::cuda
