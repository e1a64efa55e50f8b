// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "stipple/core/curve_order.h"
#include "stipple/edit/merge_neighbours.h"
#include "stipple/edit/select.h"
#include "stipple/io/output_file.h"
#include "stipple/math/math.h"
#include "stipple/model/formats/quantise.h"
#include "stipple/model/sog/encode_sog.h"
#include "stipple/model/sog/lod.h"

namespace stipple {

namespace {

constexpr std::size_t kPiecesPerChunk =
    8;  // leaves of one level in a chunk: viewers choose the level of each
constexpr std::size_t kAutomaticLevelSize = 1'000'000;  // of the coarsest level

int level_count(std::size_t count, int wanted) {
  int levels = wanted;
  if (wanted == 0)  // as many halvings as lead to kAutomaticLevelSize, and at least one
    for (levels = 2; count >> (levels - 1) > kAutomaticLevelSize; ++levels) {
    }
  // No level has less than one Gaussian.
  return std::min(levels, static_cast<int>(std::bit_width(count)));
}

// Scales and rotations that merging can compute with. Of scales beyond the limit, the area does not fit into
// a float.
Gaussians with_finite_shapes(Gaussians g) {
  constexpr float kMostLogScale = 40;
  for (Vec3f& scale : g.log_scale)
    for (int k = 0; k < 3; ++k) scale[k] = std::clamp(scale[k], -kMostLogScale, kMostLogScale);
  for (Vec4f& rotation : g.rotation) rotation = unit_quaternion(rotation);
  return g;
}

std::vector<Gaussians> make_levels(const Gaussians& gaussians, int count) {
  std::vector<Gaussians> levels{with_finite_shapes(gaussians)};
  while (static_cast<int>(levels.size()) < count)
    levels.push_back(merge_neighbours(levels.back(), (levels.back().size() + 1) / 2));
  return levels;
}

// A Gaussian of any level.
struct Member {
  Vec3f mean;
  std::uint32_t row;
  int level;
};

struct Chunk {  // becomes a SOG
  int level = 0;
  std::string name;
  std::vector<std::uint32_t> rows;
};

// Cuts all levels into leaves, and gathers the leaves into chunks.
class LodTree {
 public:
  LodTree(const std::vector<Gaussians>& levels, std::size_t chunk_size)
      : levels_(levels),
        chunk_size_(chunk_size),
        open_chunk_(levels.size(), kNone),
        next_number_(levels.size()) {
    std::vector<Member> members;
    for (std::size_t level = 0; level < levels.size(); ++level)
      for (std::size_t i = 0; i < levels[level].size(); ++i)
        members.push_back({levels[level].mean[i], static_cast<std::uint32_t>(i), static_cast<int>(level)});
    text_ = add_node(members).first;
  }

  const std::vector<Chunk>& chunks() const { return chunks_; }
  const std::string& text() const { return text_; }  // the tree as JSON

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  // The JSON of a node, and its box.
  std::pair<std::string, LodBox> add_node(std::span<Member> members) {
    if (members.size() <= std::max<std::size_t>(1, chunk_size_ / kPiecesPerChunk)) return add_leaf(members);
    const std::size_t half = members.size() / 2;
    const int axis = longest_axis(members);
    std::nth_element(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(half), members.end(),
                     [axis](const Member& a, const Member& b) {
                       return std::tie(a.mean[axis], a.level, a.row) < std::tie(b.mean[axis], b.level, b.row);
                     });
    auto [first, box] = add_node(members.first(half));
    const auto [second, other] = add_node(members.subspan(half));
    box.add(other.low, other.high);
    return {fmt::format(R"({{{},"children":[{},{}]}})", bound(box), first, second), box};
  }

  std::pair<std::string, LodBox> add_leaf(std::span<Member> members) {
    std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
      return std::tie(a.level, a.row) < std::tie(b.level, b.row);
    });
    std::string pieces;
    LodBox box;
    for (auto begin = members.begin(); begin != members.end();) {
      const int level = begin->level;
      std::vector<std::uint32_t> rows;
      for (; begin != members.end() && begin->level == level; ++begin) rows.push_back(begin->row);
      const Gaussians& g = levels_[static_cast<std::size_t>(level)];
      sort_along_curve(g, rows);
      const LodBox part = box_of(g, rows);
      box.add(part.low, part.high);
      const LodPiece piece = add_piece(level, rows);
      pieces += fmt::format(R"({}"{}":{{"file":{},"offset":{},"count":{}}})", pieces.empty() ? "" : ",",
                            level, piece.file, piece.offset, piece.count);
    }
    return {fmt::format(R"({{{},"lods":{{{}}}}})", bound(box), pieces), box};
  }

  LodPiece add_piece(int level, const std::vector<std::uint32_t>& rows) {
    std::size_t& open = open_chunk_[static_cast<std::size_t>(level)];
    if (open == kNone || chunks_[open].rows.size() + rows.size() > chunk_size_) {
      open = chunks_.size();
      chunks_.push_back(
          {level, fmt::format("{}_{}", level, next_number_[static_cast<std::size_t>(level)]++), {}});
    }
    std::vector<std::uint32_t>& to = chunks_[open].rows;
    const LodPiece piece{open, to.size(), rows.size()};
    to.insert(to.end(), rows.begin(), rows.end());
    return piece;
  }

  static void sort_along_curve(const Gaussians& g, std::vector<std::uint32_t>& rows) {
    std::vector<Vec3f> means;
    for (const std::uint32_t row : rows) means.push_back(g.mean[row]);
    std::vector<std::uint32_t> order = curve_order(means);
    for (std::uint32_t& i : order) i = rows[i];
    rows = std::move(order);
  }

  static int longest_axis(std::span<const Member> members) {
    LodBox box;
    for (const Member& member : members) box.add(member.mean, member.mean);
    const Vec3f size = box.high - box.low;
    if (size.x >= size.y && size.x >= size.z) return 0;
    return size.y >= size.z ? 1 : 2;
  }

  static std::string bound(const LodBox& box) {
    return fmt::format(R"("bound":{{"min":[{},{},{}],"max":[{},{},{}]}})", box.low.x, box.low.y, box.low.z,
                       box.high.x, box.high.y, box.high.z);
  }

  const std::vector<Gaussians>& levels_;
  std::size_t chunk_size_;
  std::vector<std::size_t> open_chunk_;  // of each level: the one that is being filled
  std::vector<int> next_number_;         // of each level: of the next chunk
  std::vector<Chunk> chunks_;
  std::string text_;
};

std::string meta_text(const std::vector<Gaussians>& levels, const LodTree& tree, std::size_t chunk_size) {
  std::string counts, files;
  std::size_t total = 0;
  for (const Gaussians& level : levels) {
    counts += fmt::format("{}{}", counts.empty() ? "" : ",", level.size());
    total += level.size();
  }
  for (const Chunk& chunk : tree.chunks())
    files += fmt::format(R"({}"{}/meta.json")", files.empty() ? "" : ",", chunk.name);
  return fmt::format(
      R"({{"version":1,"asset":{{"generator":"Stipple","chunkGaussians":{}}},"count":{},"counts":[{}],)"
      R"("lodLevels":{},"lodErrors":false,"filenames":[{}],"tree":{}}})",
      chunk_size, total, counts, levels.size(), files, tree.text());
}

}  // namespace

void save_lod(const Gaussians& gaussians, const std::filesystem::path& path,
              const SaveModelOptions& options) {
  check_sog_can_hold(gaussians, path);
  const std::filesystem::path meta = lod_meta_path(path);
  const std::vector<Gaussians> levels =
      make_levels(gaussians, level_count(gaussians.size(), options.lod_levels));
  const std::size_t chunk_size = std::max<std::size_t>(options.lod_chunk, 1);
  const LodTree tree(levels, chunk_size);
  const std::string text = meta_text(levels, tree, chunk_size);
  if (meta.has_parent_path()) std::filesystem::create_directories(meta.parent_path());
  // Without lod-meta.json, the folder is not a model: see write_sog_folder().
  std::filesystem::remove(meta);
  for (const Chunk& chunk : tree.chunks()) {
    const Gaussians part = select(levels[static_cast<std::size_t>(chunk.level)], chunk.rows);
    std::vector<std::uint32_t> order(part.size());
    std::iota(order.begin(), order.end(), 0u);
    write_sog_folder(meta.parent_path() / chunk.name / "meta.json",
                     encode_sog(part, std::move(order), options.antialiased));
  }
  OutputFile out(meta);
  out.write(text);
  out.commit();
}

std::filesystem::path lod_meta_path(const std::filesystem::path& path) {
  const std::filesystem::path name = path.has_filename() ? path : path.parent_path();
  return name.extension() == ".json" ? name : name / "lod-meta.json";
}

}  // namespace stipple
