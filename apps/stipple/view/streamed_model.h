// SPDX-License-Identifier: Apache-2.0
#pragma once
// A model with levels of detail (streamed SOG), of which a page gets the pieces that its camera needs
// (docs/viewer.md).
#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/stipple/server/server.h"
#include "apps/stipple/view/byte_cache.h"
#include "stipple/model/sog/lod.h"

namespace stipple {

class StreamedModel {
 public:
  // `path` is that of the lod-meta.json. Reads what the files say about themselves, and Gaussians only where
  // a leaf has no box. Throws Error if a file is missing, or if there are no Gaussians.
  explicit StreamedModel(const std::filesystem::path& path);

  std::size_t count() const { return count_; }  // of the finest level
  int sh_degree() const { return sh_degree_; }
  bool is_antialiased() const { return is_antialiased_; }

  // The coarsest level, or a part of it if it is large, without what surrounds the model.
  Gaussians coarse();

  // Answers the address with these numbers: "lod/0" is the list of the pieces, "lod/0/17/2" level 2 of
  // leaf 17. Any thread may call it.
  HttpResponse respond(std::span<const std::size_t> numbers);

 private:
  using PieceKey = std::pair<std::size_t, std::size_t>;  // leaf, level

  std::filesystem::path file_of(const LodPiece& piece) const { return folder_ / meta_.files[piece.file]; }
  void add_environment();
  void summarise();
  void find_boxes();
  Gaussians load(const LodPiece& piece);
  std::string list_of_pieces(std::size_t model) const;
  const LodPiece* piece_at(PieceKey key) const;

  std::filesystem::path folder_;
  LodMeta meta_;                    // without empty pieces and leaves, and with a leaf for the environment
  std::size_t leaves_of_tree_ = 0;  // they come first
  std::size_t count_ = 0;
  int sh_degree_ = 0;
  bool is_antialiased_ = false;
  ByteCache<std::string, Gaussians> files_;             // decoded
  ByteCache<PieceKey, std::vector<std::byte>> pieces_;  // encoded
};

}  // namespace stipple
