// SPDX-License-Identifier: Apache-2.0
#pragma once
// The compressed .ply format of PlayCanvas and SuperSplat: 16 bytes per Gaussian, which are relative to the
// bounds of its chunk of 256 Gaussians, and one byte for each coefficient of degree 1 and above.
#include <cstddef>
#include <filesystem>
#include <span>

#include "stipple/model/model_file.h"

namespace stipple {

bool is_compressed_ply(std::span<const std::byte> head);

// Files without bounds of colours, as they were written at first, are read as well.
Gaussians load_compressed_ply(const std::filesystem::path& path, ModelFacts& facts);

// Sorts the Gaussians into chunks of neighbours. A Gaussian whose position is not finite becomes invisible.
void save_compressed_ply(const Gaussians& gaussians, const std::filesystem::path& path,
                         const SaveModelOptions& options);

}  // namespace stipple
