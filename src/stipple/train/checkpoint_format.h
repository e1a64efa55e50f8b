// SPDX-License-Identifier: Apache-2.0
#pragma once
// The format of a checkpoint:
//
//   8 bytes   "STIPPLE" and a byte 0
//   u32       version
//   u32       length of the text
//   u32       checksum of everything after this field
//   text      JSON: counters, view order, sizes, the options that must agree, and the fingerprint of the
//             model that the run started from (null or missing if it started from points)
//   floats    mean, log_scale, rotation, logit_opacity, sh of the Gaussians, then of both moments; then the
//             density statistics and the variances of the 3D filter; then the best model, if the guard
//             keeps one, and its filter
//
// The filter is not yet a part of the scales and opacities. A run without a filter has no variances.
//
// Numbers are little-endian. The checksum is that of core/checksum.h.
//
// trainer_checkpoint.cpp writes checkpoints, and trainer_restore.cpp reads them. Include this in .cpp files
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
inline constexpr std::uint32_t kCheckpointVersion = 5;

struct CheckpointHead {
  char magic[8];
  std::uint32_t version, text_bytes, checksum;
};
static_assert(sizeof(CheckpointHead) == 20);

// What a checkpoint must agree with: facts that tell one run from another. Other options may be changed on
// purpose when a run is resumed.
nlohmann::json run_identity(const TrainOptions& options, const Scene& scene, std::size_t view_count,
                            std::size_t watched_count);

}  // namespace stipple
