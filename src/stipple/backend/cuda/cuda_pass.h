// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the CUDA backend keeps in a pass: everything that its stages hand on to each other beyond the shared
// structs, their scratch memory, and what the host reads at the end.
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/backend/cuda/runtime/device_memory.h"
#include "stipple/backend/cuda/runtime/stage_events.h"

namespace stipple::cuda {

// What kernels tell each other of a view and, at the end of the pass, the host.
struct ViewStatus {
  unsigned has_overflowed;  // there are more pairs than there was room for
  unsigned is_bad;          // a loss or a gradient that is not finite
  LossValue loss;
  unsigned long long pair_count;  // of Gaussian and tile
  unsigned gaussian_count;        // that touch a tile
  unsigned chunk_count;           // blend's, after the tiles' first
  float camera[kCameraFields];
  Vec3f background;
};

// What bin sets aside.
struct BinRoom {
  std::size_t gaussians = 0;  // that touch a tile
  std::size_t pairs = 0;      // of Gaussian and tile
  bool is_known = false;      // or at least predicted
};

struct Chunk {  // of a long tile, see chunk.h
  std::uint32_t tile, slot_begin;
};

// blend -> blend_backward: the tiles' chunks after the first, in no particular order, the state of their
// pixels at their start, and where all of a tile was finished.
struct ChunkList {
  DeviceArray<Chunk> chunks;
  DeviceArray<float> checkpoint;
  DeviceArray<std::uint32_t> slot_end_from_tile;
};

struct CudaPass : PassScratch {
  explicit CudaPass(const std::shared_ptr<CudaContext>& context) : arena(context), host_status(context) {}

  // project -> bin: how many tiles a splat touches, and the bits of its depth (all set when it touches none)
  DeviceArray<std::uint32_t> tile_count, depth_key;

  // bin -> blend_backward; empty unless the order of sums is fixed
  DeviceArray<std::uint32_t> pair_from_slot;
  DeviceArray<PairRange> pairs_from_gaussian;

  ChunkList chunks;          // the frame's; there are as many as its status says
  bool has_blended = false;  // the view, so that its status counts chunks already

  // blend_backward -> project_backward: sums of every Gaussian, or of every pair
  DeviceArray<float> sums;
  int sums_stride = 0;
  std::uint32_t sums_stamp = 0;
  bool sums_are_pending =
      false;  // the gradients of the splats were not written out: the next stage takes the sums
  bool sums_have_fourth = false, sums_have_absolute = false;

  // loss
  DeviceArray<double> loss_sums;
  DeviceArray<unsigned> loss_blocks_done;

  DeviceArray<double> camera_sums;  // project_backward

  Arena arena;

  DeviceArray<ViewStatus> status;  // one a view
  PinnedBlock host_status;
  int view_count = 0;                   // that the pass is over
  std::vector<int> view_ids;            // of those that were projected
  std::vector<BinRoom> room_from_view;  // what a view needed the last time, by its id
  BinRoom first_room;                   // for tests: what is predicted for views that have not been seen yet
  int overflow_count = 0;               // of passes that had to be run again
  StageEvents events;

  // The status of the view that is being worked on.
  ViewStatus* view_status();
  bool keeps_scratch() const { return !view_ids.empty() && view_ids.back() != kNoView; }
};

}  // namespace stipple::cuda
