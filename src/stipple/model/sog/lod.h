// SPDX-License-Identifier: Apache-2.0
#pragma once
// Streamed SOG: a folder with a model in several levels of detail, cut into pieces, of which viewers load
// what they need. lod-meta.json describes it: a tree of boxes whose leaves say, for each level, which rows of
// which SOG are inside. Level 0 is the model itself.
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/core/gaussians.h"
#include "stipple/model/model_file.h"
#include "stipple/model/sog/lod_box.h"

namespace stipple {

struct LodPiece {
  std::size_t file = 0;    // index into LodMeta::files
  std::size_t offset = 0;  // the first row
  std::size_t count = 0;
};

struct LodLeaf {
  std::map<int, LodPiece> pieces;  // by level; level 0 is the finest
  std::optional<LodBox> box;       // of the Gaussians of all levels, if the file says it
};

struct LodMeta {
  std::vector<std::string> files;  // names of meta.json files, relative to the folder
  std::string environment;         // the same of what surrounds the model; empty if there is nothing
  std::vector<LodLeaf> leaves;
};

// `name` is for error messages.
LodMeta parse_lod_meta(std::string_view text, const std::string& name);

bool is_lod(std::span<const std::byte> head);

// Throws Error if this file, which has `count` Gaussians, does not have the rows of the piece.
void check_piece(const LodPiece& piece, std::size_t count, const std::filesystem::path& file);

// Reads the finest level, of each leaf. `path` is that of the lod-meta.json.
Gaussians load_lod(const std::filesystem::path& path, ModelFacts& facts);

// `path` is that of the folder or of the lod-meta.json in it, which is written last.
void save_lod(const Gaussians& gaussians, const std::filesystem::path& path, const SaveModelOptions& options);

// The size of a lod-meta.json and of all files of all levels.
std::uintmax_t lod_bytes(const std::filesystem::path& path);

// The lod-meta.json of a folder that is given by its own name or by that of the lod-meta.json.
std::filesystem::path lod_meta_path(const std::filesystem::path& path);

}  // namespace stipple
