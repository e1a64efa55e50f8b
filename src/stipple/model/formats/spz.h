// SPDX-License-Identifier: Apache-2.0
#pragma once
// Niantic's compressed models, .spz: read in versions 1 to 4, written in versions 2 to 4. See
// docs/formats.md.
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>

#include "stipple/io/byte_sink.h"
#include "stipple/model/model_file.h"

namespace stipple {

bool is_spz(std::span<const std::byte> head);

Gaussians load_spz(const std::filesystem::path& path, ModelFacts& facts);

// Hands over the bytes of a file; `name` is for error messages.
void write_spz(const Gaussians& gaussians, const std::string& name, const SaveModelOptions& options,
               const ByteSink& sink);

void save_spz(const Gaussians& gaussians, const std::filesystem::path& path, const SaveModelOptions& options);

}  // namespace stipple
