// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "stipple/core/gaussians.h"
#include "stipple/model/sog/sog_files.h"

namespace stipple {

// Throws if SOG cannot hold the model; `path` is for the message.
void check_sog_can_hold(const Gaussians& gaussians, const std::filesystem::path& path);

// The files of a SOG, meta.json last. `order` is that in which Gaussians are stored.
std::vector<NamedBytes> encode_sog(const Gaussians& gaussians, std::vector<std::uint32_t> order,
                                   bool antialiased);

// Writes the files into the folder of `meta`.
void write_sog_folder(const std::filesystem::path& meta, std::span<const NamedBytes> files);

}  // namespace stipple
