// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/io/byte_order.h"
#include "stipple/io/input_file.h"
#include "stipple/model/formats/quantise.h"
#include "stipple/model/sog/sog.h"
#include "stipple/model/sog/sog_files.h"
#include "stipple/model/sog/sog_image.h"
#include "stipple/model/sog/sog_meta.h"

namespace stipple {

namespace {

constexpr std::size_t kGrain = 1 << 14;

// A real model has 8 to 20 bytes per Gaussian; this many Gaussians per byte are more than any but a malicious
// file has, and few enough that a small file cannot use up the memory.
constexpr std::size_t kMaxGaussiansPerByte = 16;
constexpr std::size_t kAlwaysAllowed = 1 << 14;

constexpr std::size_t kCoefficients[] = {0, 3, 8, 15};  // of degree 1 and above, per channel
constexpr std::size_t kPaletteColumns = 64;             // entries per row of the palette's image

class SogReader {
 public:
  SogReader(SogFiles& files, const SogMeta& meta, std::string name)
      : files_(files), meta_(meta), name_(std::move(name)) {}

  Gaussians load() {
    read_files();
    Gaussians g;
    SogImage palette;
    if (meta_.harmonics) {
      palette = decode_palette();
      g.sh_degree = degree_of(palette);
    }
    g = make_gaussians(meta_.count, g.sh_degree);
    read_means(g);
    read_rotations(g);
    read_scales(g);
    read_colors(g);
    if (meta_.harmonics) read_harmonics(palette, g);
    return g;
  }

  int sh_degree() {
    if (!meta_.harmonics) return 0;
    if (meta_.version == 2) return meta_.harmonics->degree;
    palette_ = files_.read(meta_.harmonics->palette_file);
    return degree_of(decode_palette());
  }

 private:
  // Reads all files before anything is decoded, to compare what meta.json claims with their size.
  void read_files() {
    std::size_t bytes = 0;
    const auto add = [&](std::vector<std::byte>& file, const std::string& file_name) {
      file = files_.read(file_name);
      bytes += file.size();
    };
    add(mean_low_, meta_.mean_files[0]);
    add(mean_high_, meta_.mean_files[1]);
    add(rotation_, meta_.rotation_file);
    add(scale_, meta_.scale_file);
    add(color_, meta_.color_file);
    if (meta_.harmonics) {
      add(palette_, meta_.harmonics->palette_file);
      add(label_, meta_.harmonics->label_file);
    }
    if (meta_.count == 0 || meta_.count > kAlwaysAllowed + bytes * kMaxGaussiansPerByte)
      throw Error(fmt::format(
          "{}: {} bytes of images cannot hold the {} Gaussians that it claims; the file is damaged", name_,
          bytes, meta_.count));
  }

  // Decodes an image with a texel for each Gaussian, and frees its file.
  SogImage decode(std::vector<std::byte>& file, const std::string& file_name) const {
    const std::vector<std::byte> bytes = std::move(file);
    const SizeCheck check{meta_.count, 2 * meta_.count + (1 << 16)};
    return decode_webp(bytes, files_.label(file_name), check);
  }

  SogImage decode_palette() {
    const std::size_t entries = std::max<std::size_t>(1, meta_.harmonics->palette_size);
    const std::size_t wide = kPaletteColumns * kCoefficients[3];
    SizeCheck check{kPaletteColumns, wide * 1024};
    if (meta_.version == 2) {
      const std::size_t width = kPaletteColumns * kCoefficients[meta_.harmonics->degree];
      check = {(entries + kPaletteColumns - 1) / kPaletteColumns * width, width * 1024,
               static_cast<int>(width)};
    }
    const std::vector<std::byte> bytes = std::move(palette_);
    return decode_webp(bytes, files_.label(meta_.harmonics->palette_file), check);
  }

  int degree_of(const SogImage& palette) const {
    if (meta_.version == 2) return meta_.harmonics->degree;
    for (int degree = 1; degree <= 3; ++degree)
      if (palette.width == static_cast<int>(kPaletteColumns * kCoefficients[degree])) return degree;
    throw Error(fmt::format("{}: a width of {} is not that of a palette; the file is damaged",
                            files_.label(meta_.harmonics->palette_file), palette.width));
  }

  void read_means(Gaussians& g) {
    const SogImage low = decode(mean_low_, meta_.mean_files[0]);
    const SogImage high = decode(mean_high_, meta_.mean_files[1]);
    parallel_for(
        g.size(),
        [&](std::size_t i) {
          for (int axis = 0; axis < 3; ++axis) {
            const auto a = static_cast<std::size_t>(axis);
            const int field = low.texel(i)[a] | high.texel(i)[a] << 8;
            const double t = meta_.low[a] + (meta_.high[a] - meta_.low[a]) * (field / 65535.0);
            g.mean[i][axis] = static_cast<float>(unsqueeze_position(t));
          }
        },
        kGrain);
  }

  void read_rotations(Gaussians& g) {
    const SogImage image = decode(rotation_, meta_.rotation_file);
    parallel_for(
        g.size(),
        [&](std::size_t i) {
          const std::uint8_t* t = image.texel(i);
          if (t[3] < 252) {  // not a rotation
            g.rotation[i] = {1, 0, 0, 0};
            return;
          }
          const SmallestThree code{static_cast<std::uint32_t>(t[3] - 252), {t[0], t[1], t[2]}};
          const std::array<float, 4> q = decode_smallest_three(code, UnormComponent{255});
          g.rotation[i] = {q[0], q[1], q[2], q[3]};
        },
        kGrain);
  }

  void read_scales(Gaussians& g) {
    const SogImage image = decode(scale_, meta_.scale_file);
    parallel_for(
        g.size(),
        [&](std::size_t i) {
          const std::uint8_t* t = image.texel(i);
          g.log_scale[i] = {meta_.scale[0][t[0]], meta_.scale[1][t[1]], meta_.scale[2][t[2]]};
        },
        kGrain);
  }

  void read_colors(Gaussians& g) {
    const SogImage image = decode(color_, meta_.color_file);
    const auto per_gaussian = static_cast<std::size_t>(g.sh_count());
    parallel_for(
        g.size(),
        [&](std::size_t i) {
          const std::uint8_t* t = image.texel(i);
          g.sh[i * per_gaussian] = {meta_.color[0][t[0]], meta_.color[1][t[1]], meta_.color[2][t[2]]};
          g.logit_opacity[i] = meta_.logit_opacity[t[3]];
        },
        kGrain);
  }

  void read_harmonics(const SogImage& palette, Gaussians& g) {
    const SogImage labels = decode(label_, meta_.harmonics->label_file);
    const auto coefficients = static_cast<std::size_t>(g.sh_count()) - 1;
    const ByteTable& table = meta_.harmonics->table;
    std::size_t entries = meta_.harmonics->palette_size;
    if (entries == 0) entries = palette.texels() / coefficients;
    const auto label_of = [&](std::size_t i) {
      return static_cast<std::size_t>(labels.texel(i)[0] | labels.texel(i)[1] << 8);
    };
    for (std::size_t i = 0; i < g.size(); ++i)
      if (label_of(i) >= entries)
        throw Error(fmt::format("{}: Gaussian {} has entry {} of a palette of {}; the file is damaged",
                                files_.label(meta_.harmonics->label_file), i, label_of(i), entries));
    parallel_for(
        g.size(),
        [&](std::size_t i) {
          // Rows of the image hold 64 entries each, without gaps, so texels are counted through all rows.
          const std::uint8_t* from = palette.texel(label_of(i) * coefficients);
          Vec3f* to = &g.sh[i * (coefficients + 1) + 1];
          for (std::size_t k = 0; k < coefficients; ++k, from += 4)
            to[k] = {table[from[0]], table[from[1]], table[from[2]]};
        },
        kGrain);
  }

  SogFiles& files_;
  const SogMeta& meta_;
  std::string name_;
  std::vector<std::byte> mean_low_, mean_high_, rotation_, scale_, color_, palette_, label_;
};

SogMeta read_meta(SogFiles& files) {
  const std::vector<std::byte> text = files.read(files.meta_name());
  return parse_sog_meta(as_text(text), files.label(files.meta_name()));
}

}  // namespace

bool is_sog(std::span<const std::byte> head) {
  const std::string_view text = as_text(head);
  if (text.starts_with("{")) return text.find("\"means\"") != std::string_view::npos;
  // The first entry of an archive: a header of 30 bytes, in which the length of the name is at 26, and the
  // name.
  if (!text.starts_with("PK\3\4") || text.size() < 30) return false;
  const std::string_view name =
      text.substr(30, load_number<std::uint16_t>(&head[26], std::endian::native == std::endian::big));
  return name.ends_with(".webp") || name.ends_with("meta.json");
}

Gaussians load_sog(const std::filesystem::path& path, ModelFacts& facts) {
  const std::unique_ptr<SogFiles> files = open_sog(path);
  const SogMeta meta = read_meta(*files);
  facts.format = fmt::format("SOG version {}", meta.version);
  if (meta.antialiased) facts.antialiased = true;
  return SogReader(*files, meta, path.string()).load();
}

SogSummary summarise_sog(const std::filesystem::path& path) {
  const std::unique_ptr<SogFiles> files = open_sog(path);
  const SogMeta meta = read_meta(*files);
  return {meta.count, SogReader(*files, meta, path.string()).sh_degree(), meta.antialiased};
}

std::uintmax_t sog_bytes(const std::filesystem::path& path) {
  std::uintmax_t bytes = bytes_of_file(path);
  if (as_text(InputFile(path, 2).peek(2)) == "PK") return bytes;
  const SogMeta meta = parse_sog_meta(read_text(path), path.string());
  std::vector<std::string> files{meta.mean_files[0], meta.mean_files[1], meta.rotation_file, meta.scale_file,
                                 meta.color_file};
  if (meta.harmonics) files.insert(files.end(), {meta.harmonics->palette_file, meta.harmonics->label_file});
  for (const std::string& file : files) bytes += bytes_of_file(path.parent_path() / file);
  return bytes;
}

}  // namespace stipple
