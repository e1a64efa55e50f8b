// SPDX-License-Identifier: Apache-2.0
#pragma once
// What the Vulkan backend keeps in a pass: the data that its stages exchange beyond the public structs, their
// scratch memory, and the status that the host reads at the end.
#include <vector>

#include "stipple/backend/backend.h"
#include "stipple/backend/bin_room.h"
#include "stipple/backend/vulkan/runtime/stage_queries.h"

namespace stipple::vulkan {

// A view's status, shared by its kernels and read by the host at the end of the pass; shared/status.glsl
// numbers its words. Its size is a multiple of every alignment that bindings may need.
struct ViewStatus {
  std::uint32_t has_overflowed;  // splats, Gaussians or pairs exceeded the capacity
  std::uint32_t is_bad;          // a loss or a gradient was not finite
  LossValue loss;
  std::uint32_t pairs_low, pairs_high;  // of Gaussian and tile
  std::uint32_t gaussian_count;         // that touch a tile
  std::uint32_t splat_count;            // that the view shows
  float camera[kCameraFields];
  Vec3f background;
  std::uint32_t padding[37];

  std::uint64_t pair_count() const { return std::uint64_t{pairs_high} << 32 | pairs_low; }
};
static_assert(sizeof(ViewStatus) == 256);

// What bin has to do, computed on the device; shared/plan.glsl numbers its words.
enum PlanArguments {
  kGaussians,
  kGaussianScan,
  kGaussianSort,
  kGaussianCounters,
  kPairs,
  kPairSort,
  kPairCounters
};
constexpr std::size_t kPlanWords = 3 + 3 * (kPairCounters + 1);
constexpr std::size_t kScanBlock = 1024, kSortBlock = 2048;  // items

// A tile's slots are divided into chunks. At the start of every chunk but the first, blend stores the state
// of the tile's pixels, a checkpoint; blend_backward then processes all chunks in parallel, so that the
// device never waits for one tile with many slots.
constexpr std::size_t kChunk = 256;  // slots
constexpr std::size_t kTilePixels = 256;
constexpr std::size_t kSumFields = 12;  // of shared/splat_sums.glsl
// Tiles or chunks of one dispatch. Even a slow GPU draws as many in well under a second.
constexpr std::size_t kMostTiles = 4096;

struct Chunk {
  std::uint32_t tile, slot_begin;
};

// blend -> blend_backward: all chunks but each tile's first, in no particular order; the state of the pixels
// at their starts (transmittance, negative when finished, and three or four channels); and the slot at which
// blending of each tile ended.
struct ChunkList {
  DeviceArray<std::uint32_t> count;
  DeviceArray<Chunk> chunks;
  DeviceArray<float> checkpoint;
  DeviceArray<std::uint32_t> slot_end_from_tile;
  bool has_fourth = false;
};

// Two arrays of keys and values between which the passes of a sort alternate.
struct SortArrays {
  DeviceArray<std::uint32_t> key[2], value[2];
};

struct BinScratch {
  SortArrays gaussians, pairs;
  DeviceArray<std::uint32_t> counters, block_sums;
  DeviceArray<std::uint32_t> first_from_rank;
  DeviceArray<std::uint32_t> splat_from_pair, pair_from_slot;  // only for a fixed order of sums
};

struct VulkanPass : PassScratch {
  explicit VulkanPass(const std::shared_ptr<Context>& context) : queries(context) {}

  // project -> bin: how many tiles a splat touches, and the bits of its depth (all set if it touches none),
  // in its row
  DeviceArray<std::uint32_t> tile_count, depth_key;

  DeviceArray<std::uint32_t> row_sums;  // scratch memory of project

  DeviceArray<std::uint32_t> plan;
  BinScratch bin;

  // bin -> blend_backward; empty unless the order of sums is fixed
  DeviceArray<std::uint32_t> slot_from_pair;
  DeviceArray<PairRange> pairs_from_splat;

  ChunkList chunks;  // of the frame
  DeviceArray<std::uint32_t> backward_arguments;

  // blend_backward -> project_backward: 12 sums per splat, or per slot. Those of splats are zero between
  // passes.
  DeviceArray<float> sums;
  bool sums_are_pending =
      false;  // the splats' gradients have not been written; the next stage reads the sums instead
  bool sums_have_absolute = false;

  DeviceArray<float> derivatives[3], loss_sums;  // loss
  DeviceArray<float> camera_sums;                // project_backward

  DeviceArray<ViewStatus> status;  // one per view
  int view_count = 0;              // in this pass
  std::vector<int> view_ids;       // of the views projected so far
  RoomPredictor rooms;
  StageQueries queries;

  std::size_t view_index() const { return view_ids.size() - 1; }
  bool keeps_scratch() const { return !view_ids.empty() && view_ids.back() != kNoView; }
};

}  // namespace stipple::vulkan
