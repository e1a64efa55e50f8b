// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "stipple/core/error.h"
#include "stipple/edit/join.h"
#include "stipple/edit/select.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json_fields.h"
#include "stipple/model/sog/lod.h"
#include "stipple/model/sog/sog.h"

namespace stipple {

namespace {

using nlohmann::json;

class LodParser {
 public:
  explicit LodParser(std::string name) : name_(std::move(name)) {}

  LodMeta parse(std::string_view text) {
    if (const std::string_view excess = json_excess(text); !excess.empty())
      throw Error(fmt::format("{} {}", name_, excess));
    const json root = parse_json(text);
    if (root.is_discarded()) fail("this is not valid JSON");
    if (!root.is_object()) fail("this is not an object");
    if (const auto version = root.find("version"); version != root.end() && *version != 1)
      throw Error(fmt::format("{}: only version 1 of streamed SOG can be read", name_));
    const json& files = at(root, "filenames");
    if (!files.is_array()) fail("filenames must be an array");
    for (const json& file : files) meta_.files.push_back(file_name(file));
    if (const auto around = root.find("environment"); around != root.end() && !around->is_null())
      meta_.environment = file_name(*around);
    add_leaves(at(root, "tree"));
    return std::move(meta_);
  }

 private:
  // The depth of the tree is limited by that of the text (json_excess()).
  void add_leaves(const json& node) {
    if (!node.is_object()) fail("a node of the tree must be an object");
    if (const auto lods = node.find("lods"); lods != node.end()) {
      if (!lods->is_object()) fail("lods must be an object");
      LodLeaf leaf;
      for (const auto& [text, piece] : lods->items()) {
        const int level = level_of(text);
        leaf.pieces[level] = piece_of(piece);
      }
      if (const auto bound = node.find("bound"); bound != node.end() && !bound->is_null())
        leaf.box = box_in(*bound);
      meta_.leaves.push_back(std::move(leaf));
    } else if (const auto children = node.find("children"); children != node.end()) {
      if (!children->is_array()) fail("children must be an array");
      for (const json& child : *children) add_leaves(child);
    }
  }

  int level_of(const std::string& text) const {
    int level = -1;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), level);
    if (error != std::errc() || end != text.data() + text.size() || level < 0)
      fail("a level must be a number");
    return level;
  }

  LodPiece piece_of(const json& piece) const {
    if (!piece.is_object()) fail("a piece must be an object");
    const LodPiece result{size(piece, "file"), size(piece, "offset"), size(piece, "count")};
    if (result.file >= meta_.files.size()) fail("a piece is in a file that is not in the list");
    return result;
  }

  LodBox box_in(const json& bound) const {
    if (!bound.is_object()) fail("a bound must be an object");
    const LodBox box{corner(bound, "min"), corner(bound, "max")};
    for (int k = 0; k < 3; ++k)
      if (box.low[k] > box.high[k]) fail("the min of a bound must not be above its max");
    return box;
  }

  Vec3f corner(const json& bound, const char* key) const {
    const json& list = at(bound, key);
    if (!list.is_array() || list.size() != 3) fail(fmt::format("the {} of a bound must be 3 numbers", key));
    Vec3f corner;
    for (int k = 0; k < 3; ++k) {
      corner[k] = to_float(list[static_cast<std::size_t>(k)]);
      if (!std::isfinite(corner[k])) fail(fmt::format("the {} of a bound must be finite numbers", key));
    }
    return corner;
  }

  std::size_t size(const json& object, const char* key) const {
    const json& value = at(object, key);
    if (!value.is_number_unsigned()) fail(fmt::format("{} must be a whole number", key));
    return value.get<std::size_t>();
  }

  const json& at(const json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end()) fail(fmt::format("{} is missing", key));
    return *found;
  }

  // A path that stays in the folder, in its shortest form: pieces of a file are compared by its name.
  std::string file_name(const json& value) const {
    if (!value.is_string()) fail("the name of a file must be a string");
    const auto text = value.get<std::string>();
    const std::filesystem::path path(text);
    const bool leads_out =
        std::any_of(path.begin(), path.end(), [](const auto& part) { return part == ".."; });
    if (text.empty() || path.is_absolute() || leads_out || text.find_first_of(":\\") != std::string::npos ||
        text.find('\0') != std::string::npos)
      throw Error(fmt::format("{}: '{}' is not the name of a file in this folder", name_, printable(text)));
    return path.lexically_normal().string();
  }

  [[noreturn]] void fail(std::string_view what) const {
    throw Error(fmt::format("{}: {}; the file is damaged", name_, what));
  }

  std::string name_;
  LodMeta meta_;
};

// The pieces to load, by file. Where a leaf lacks level 0, its finest level is loaded.
std::map<std::string, std::vector<LodPiece>> finest_pieces(const LodMeta& meta) {
  std::map<std::string, std::vector<LodPiece>> pieces;
  for (const LodLeaf& leaf : meta.leaves)
    for (const auto& [level, piece] : leaf.pieces) {
      if (piece.count == 0) continue;
      pieces[meta.files[piece.file]].push_back(piece);
      break;
    }
  return pieces;
}

[[noreturn]] void fail_to_fit(const std::filesystem::path& file, std::size_t count) {
  throw Error(fmt::format("{}: its {} Gaussians do not fit the pieces in lod-meta.json; export it again",
                          file.string(), count));
}

// The rows of the pieces, which must not overlap: a small file could otherwise claim the same rows without
// end.
std::vector<std::uint32_t> rows_of(std::vector<LodPiece> pieces, std::size_t count,
                                   const std::filesystem::path& file) {
  std::sort(pieces.begin(), pieces.end(),
            [](const LodPiece& a, const LodPiece& b) { return a.offset < b.offset; });
  std::vector<std::uint32_t> rows;
  std::size_t end = 0;
  for (const LodPiece& piece : pieces) {
    if (piece.offset < end) fail_to_fit(file, count);
    check_piece(piece, count, file);
    end = piece.offset + piece.count;
    for (std::size_t i = piece.offset; i < end; ++i) rows.push_back(static_cast<std::uint32_t>(i));
  }
  return rows;
}

}  // namespace

LodMeta parse_lod_meta(std::string_view text, const std::string& name) { return LodParser(name).parse(text); }

void check_piece(const LodPiece& piece, std::size_t count, const std::filesystem::path& file) {
  if (piece.offset > count || piece.count > count - piece.offset) fail_to_fit(file, count);
}

bool is_lod(std::span<const std::byte> head) {
  const std::string_view text = as_text(head);
  return text.starts_with("{") && text.find("\"lodLevels\"") != std::string_view::npos;
}

Gaussians load_lod(const std::filesystem::path& path, ModelFacts& facts) {
  const LodMeta meta = parse_lod_meta(read_text(path), path.string());
  Gaussians whole;
  const auto add = [&](const std::string& name, const auto& select_rows) {
    const std::filesystem::path file = path.parent_path() / name;
    Gaussians part = load_sog(file, facts);
    select_rows(part, file);
    append(std::move(part), whole);
  };
  for (const auto& [name, pieces] : finest_pieces(meta))
    add(name, [&, &chosen = pieces](Gaussians& part, const std::filesystem::path& file) {
      const std::vector<std::uint32_t> rows = rows_of(chosen, part.size(), file);
      if (rows.size() < part.size()) keep_rows(rows, part);
    });
  if (!meta.environment.empty()) add(meta.environment, [](const Gaussians&, const std::filesystem::path&) {});
  if (whole.size() == 0) throw Error(fmt::format("{}: there are no Gaussians in the tree", path.string()));
  facts.format = "streamed SOG";
  return whole;
}

std::uintmax_t lod_bytes(const std::filesystem::path& path) {
  const LodMeta meta = parse_lod_meta(read_text(path), path.string());
  std::set<std::string> files(meta.files.begin(), meta.files.end());
  if (!meta.environment.empty()) files.insert(meta.environment);
  std::uintmax_t bytes = bytes_of_file(path);
  for (const std::string& file : files) bytes += sog_bytes(path.parent_path() / file);
  return bytes;
}

}  // namespace stipple
