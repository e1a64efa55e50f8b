// SPDX-License-Identifier: Apache-2.0
#pragma once
// Models as SOG ("spatially ordered Gaussians" of PlayCanvas): lossless WebP images of quantised values, and
// a meta.json, in a zip archive named .sog or in a folder.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "stipple/core/gaussians.h"
#include "stipple/io/byte_sink.h"
#include "stipple/model/model_file.h"

namespace stipple {

bool is_sog(std::span<const std::byte> head);  // an archive or a meta.json

// `path` is an archive, or the meta.json of a folder. Reads versions 1 and 2.
Gaussians load_sog(const std::filesystem::path& path, ModelFacts& facts);

// Writes version 2: an archive, or the files of a folder if the name is that of its meta.json. In a folder,
// meta.json is written last. Every value must be finite, except for opacities: a model with others is an
// Error.
void save_sog(const Gaussians& gaussians, const std::filesystem::path& path, const SaveModelOptions& options);

// Hands over the bytes of such an archive; `name` is for error messages.
void write_sog(const Gaussians& gaussians, const std::string& name, const SaveModelOptions& options,
               const ByteSink& sink);

// What a SOG claims to be. Of a folder, hardly more than its meta.json is read.
struct SogSummary {
  std::size_t count = 0;
  int sh_degree = 0;
  bool antialiased = false;
};
SogSummary summarise_sog(const std::filesystem::path& path);

// The size of an archive, or of a meta.json and the files that it names.
std::uintmax_t sog_bytes(const std::filesystem::path& path);

}  // namespace stipple
