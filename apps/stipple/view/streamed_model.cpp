// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/streamed_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>

#include "apps/stipple/view/served_model.h"
#include "stipple/core/error.h"
#include "stipple/core/spread.h"
#include "stipple/edit/join.h"
#include "stipple/edit/select.h"
#include "stipple/io/input_file.h"
#include "stipple/model/sog/sog.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using nlohmann::ordered_json;

// A piece is a part of a file, and a page asks for one piece after the other. Encoded pieces are a tenth as
// large.
constexpr std::size_t kMostDecodedBytes = std::size_t{512} << 20;
constexpr std::size_t kMostEncodedBytes = std::size_t{256} << 20;
constexpr std::size_t kEnoughForBounds = 500'000;

std::size_t size_bytes(const Gaussians& gaussians) {
  std::size_t bytes = 0;
  for_each_parameter([&](int, const auto& array) { bytes += array.size() * sizeof(array[0]); }, gaussians);
  return bytes;
}

void drop_empty(std::vector<LodLeaf>& leaves) {
  for (LodLeaf& leaf : leaves)
    std::erase_if(leaf.pieces, [](const auto& piece) { return piece.second.count == 0; });
  std::erase_if(leaves, [](const LodLeaf& leaf) { return leaf.pieces.empty(); });
}

// JSON has no infinite numbers.
ordered_json json_of(const Vec3f& corner) {
  constexpr float kMost = std::numeric_limits<float>::max();
  auto list = ordered_json::array();
  for (int k = 0; k < 3; ++k) list.push_back(std::clamp(corner[k], -kMost, kMost));
  return list;
}

}  // namespace

StreamedModel::StreamedModel(const fs::path& path)
    : folder_(path.parent_path()),
      meta_(parse_lod_meta(read_text(path), path.string())),
      files_(kMostDecodedBytes, size_bytes),
      pieces_(kMostEncodedBytes, [](const std::vector<std::byte>& bytes) { return bytes.size(); }) {
  drop_empty(meta_.leaves);
  leaves_of_tree_ = meta_.leaves.size();
  if (!meta_.environment.empty()) add_environment();
  if (meta_.leaves.empty()) throw Error(fmt::format("{}: there are no Gaussians in the tree", path.string()));
  summarise();
  find_boxes();
}

void StreamedModel::add_environment() {
  LodLeaf leaf;
  leaf.pieces[0] = {meta_.files.size(), 0, summarise_sog(folder_ / meta_.environment).count};
  meta_.files.push_back(meta_.environment);
  meta_.leaves.push_back(std::move(leaf));
}

void StreamedModel::summarise() {
  std::vector<std::size_t> counts;
  for (const std::string& file : meta_.files) {
    const SogSummary summary = summarise_sog(folder_ / file);
    counts.push_back(summary.count);
    sh_degree_ = std::max(sh_degree_, summary.sh_degree);
    is_antialiased_ |= summary.antialiased;
  }
  for (const LodLeaf& leaf : meta_.leaves) {
    for (const auto& [level, piece] : leaf.pieces) check_piece(piece, counts[piece.file], file_of(piece));
    count_ += leaf.pieces.begin()->second.count;
  }
}

void StreamedModel::find_boxes() {
  for (LodLeaf& leaf : meta_.leaves) {
    if (leaf.box) continue;
    const Gaussians coarsest = load(leaf.pieces.rbegin()->second);
    std::vector<std::uint32_t> rows(coarsest.size());
    std::iota(rows.begin(), rows.end(), 0u);
    leaf.box = box_of(coarsest, rows);
  }
}

Gaussians StreamedModel::coarse() {
  const std::span<const LodLeaf> all(meta_.leaves);
  const std::span<const LodLeaf> leaves = leaves_of_tree_ > 0 ? all.first(leaves_of_tree_) : all;
  int coarsest = 0;
  for (const LodLeaf& leaf : leaves) coarsest = std::max(coarsest, leaf.pieces.rbegin()->first);
  std::vector<LodPiece> pieces;
  std::size_t total = 0;
  for (const LodLeaf& leaf : leaves)
    if (const auto piece = leaf.pieces.find(coarsest); piece != leaf.pieces.end()) {
      pieces.push_back(piece->second);
      total += piece->second.count;
    }
  Gaussians whole;
  const std::size_t parts = 1 + total / kEnoughForBounds;
  for (const std::size_t i : spread(pieces.size(), 1 + pieces.size() / parts)) append(load(pieces[i]), whole);
  return whole;
}

HttpResponse StreamedModel::respond(std::span<const std::size_t> numbers) {
  if (numbers.size() == 1) return json_response(200, list_of_pieces(numbers[0]));
  const PieceKey key =
      numbers.size() == 3 ? PieceKey{numbers[1], numbers[2]} : PieceKey{meta_.leaves.size(), 0};
  const LodPiece* piece = piece_at(key);
  if (piece == nullptr) return text_response(404, "the model has no such piece");
  SharedBytes bytes = pieces_.get(key, [&] { return spz_for_browsers(load(*piece), is_antialiased_); });
  return {.content_type = "application/octet-stream", .body = std::move(bytes), .is_constant = true};
}

Gaussians StreamedModel::load(const LodPiece& piece) {
  const fs::path path = file_of(piece);
  const auto file = files_.get(meta_.files[piece.file], [&] {
    ModelFacts ignored;
    return std::make_shared<const Gaussians>(load_sog(path, ignored));
  });
  check_piece(piece, file->size(), path);
  std::vector<std::uint32_t> rows(piece.count);
  std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(piece.offset));
  return select(*file, rows);
}

std::string StreamedModel::list_of_pieces(std::size_t model) const {
  auto leaves = ordered_json::array();
  for (const LodLeaf& leaf : meta_.leaves) {
    auto levels = ordered_json::array();
    for (const auto& [level, piece] : leaf.pieces)
      levels.push_back({{"level", level},
                        {"count", piece.count},
                        {"url", fmt::format("lod/{}/{}/{}", model, leaves.size(), level)}});
    leaves.push_back(
        {{"min", json_of(leaf.box->low)}, {"max", json_of(leaf.box->high)}, {"levels", std::move(levels)}});
  }
  return ordered_json{{"leaves", std::move(leaves)}}.dump();
}

const LodPiece* StreamedModel::piece_at(PieceKey key) const {
  const auto [leaf, level] = key;
  if (leaf >= meta_.leaves.size()) return nullptr;
  for (const auto& [number, piece] : meta_.leaves[leaf].pieces)
    if (static_cast<std::size_t>(number) == level) return &piece;
  return nullptr;
}

}  // namespace stipple
