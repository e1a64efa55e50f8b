// SPDX-License-Identifier: Apache-2.0
#pragma once
// The format of a checkpoint:
//
//   8 bytes   "STIPPLE" and a byte 0
//   u32       version
//   u32       length of the text
//   text      JSON: counters, view order, sizes, the options that must agree, and the fingerprint of the
//             model that the run started from (null or missing if it started from points)
//   arrays    mean, log_scale, rotation, logit_opacity, sh of the Gaussians, as floats; their moments, as
//             math/moments.glsl packs them, in the order of for_each_moment; then, again as floats, the
//             density statistics and the variances of the 3D filter; then the best model, if the guard
//             keeps one, and its filter
//   u32       checksum of everything before it
//
// Every array is that of the whole model. Each rank of a run writes and reads its part of it, so that the
// file is the same for any number of ranks.
//
// The filter is not yet a part of the scales and opacities. A run without a filter has no variances.
//
// Numbers are little-endian. The checksum is that of core/checksum.h.
//
// trainer_checkpoint.cpp writes checkpoints with checkpoint_writer.h, and trainer_restore.cpp reads them with
// checkpoint_reader.h. Include this in .cpp files
// only: the header of the JSON library compiles slowly.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "stipple/scene/scene.h"
#include "stipple/train/train_options.h"

namespace stipple {

static_assert(std::endian::native == std::endian::little, "numbers are written in the byte order of memory");
inline constexpr char kCheckpointMagic[8] = "STIPPLE";
inline constexpr std::uint32_t kCheckpointVersion = 7;

struct CheckpointHead {
  char magic[8];
  std::uint32_t version, text_bytes;
};
static_assert(sizeof(CheckpointHead) == 16);

// What a checkpoint must agree with: facts that tell one run from another. Other options may be changed on
// purpose when a run is resumed.
nlohmann::json run_identity(const TrainOptions& options, const Scene& scene, std::size_t view_count,
                            std::size_t watched_count);

}  // namespace stipple
