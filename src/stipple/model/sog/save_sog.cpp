// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "stipple/core/curve_order.h"
#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/io/output_file.h"
#include "stipple/model/formats/quantise.h"
#include "stipple/model/sog/cluster_rows.h"
#include "stipple/model/sog/encode_sog.h"
#include "stipple/model/sog/sog.h"
#include "stipple/model/sog/sog_files.h"
#include "stipple/model/sog/sog_image.h"
#include "stipple/model/sog/sog_meta.h"

namespace stipple {

namespace {

constexpr std::size_t kGrain = 1 << 14;
constexpr std::size_t kPaletteColumns = 64;

// What splat-transform uses: a power of two times 1024, at most as many as a label can count.
std::size_t palette_size_for(std::size_t count) {
  return std::min<std::size_t>(std::bit_floor(count), 1 << 16);
}

// Far beyond what means anything; squared distances of such values still fit into a float.
constexpr float kLargest = 1e15f;

bool is_usable(const Vec3f& v) {
  return std::abs(v.x) < kLargest && std::abs(v.y) < kLargest && std::abs(v.z) < kLargest;  // also not NaN
}

// The first Gaussian with a value that the format cannot hold, or the number of Gaussians.
std::size_t find_unusable(const Gaussians& g) {
  const auto per_gaussian = static_cast<std::ptrdiff_t>(g.sh_count());
  for (std::size_t i = 0; i < g.size(); ++i) {
    const auto first = g.sh.begin() + static_cast<std::ptrdiff_t>(i) * per_gaussian;
    if (!is_usable(g.mean[i]) || !is_usable(g.log_scale[i]) || std::isnan(g.logit_opacity[i]) ||
        !std::all_of(first, first + per_gaussian, is_usable))
      return i;
  }
  return g.size();
}

class SogWriter {
 public:
  SogWriter(const Gaussians& gaussians, std::vector<std::uint32_t> order, bool antialiased)
      : g_(gaussians), order_(std::move(order)) {
    const auto side = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(g_.size()))));
    width_ = static_cast<int>((side + 3) / 4 * 4);
    const std::size_t rows =
        (g_.size() + static_cast<std::size_t>(width_) - 1) / static_cast<std::size_t>(width_);
    height_ = static_cast<int>((rows + 3) / 4 * 4);
    values_.count = g_.size();
    values_.antialiased = antialiased;
  }

  // All files, meta.json last.
  std::vector<NamedBytes> encode() {
    files_ = {{"means_l.webp", {}},
              {"means_u.webp", {}},
              {"quats.webp", {}},
              {"scales.webp", {}},
              {"sh0.webp", {}}};
    if (g_.sh_degree > 0) files_.insert(files_.end(), {{"shN_centroids.webp", {}}, {"shN_labels.webp", {}}});
    find_limits();
    // The longest task is the first: the others keep the remaining cores busy meanwhile.
    std::vector<std::function<void()>> tasks;
    if (g_.sh_degree > 0) tasks.push_back([this] { encode_harmonics(); });
    tasks.push_back([this] { encode_scales(); });
    tasks.push_back([this] { encode_colors(); });
    tasks.push_back([this] { encode_means(0); });
    tasks.push_back([this] { encode_means(1); });
    tasks.push_back([this] { encode_rotations(); });
    parallel_for(tasks.size(), [&](std::size_t i) { tasks[i](); });
    const std::string text = sog_meta_text(values_);
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    files_.push_back({"meta.json", {bytes, bytes + text.size()}});
    return std::move(files_);
  }

 private:
  // Calls fill(index of the Gaussian, its texel) for all; alpha is 255 before.
  template <class Fill>
  void encode_image(std::size_t file, const Fill& fill) {
    SogImage image(width_, height_);
    parallel_for(
        g_.size(),
        [&](std::size_t i) {
          image.texel(i)[3] = 255;
          fill(order_[i], image.texel(i));
        },
        kGrain);
    files_[file].bytes = encode_webp(image);
  }

  void find_limits() {
    for (int axis = 0; axis < 3; ++axis) {
      const auto [low, high] =
          std::minmax_element(g_.mean.begin(), g_.mean.end(),
                              [axis](const Vec3f& a, const Vec3f& b) { return a[axis] < b[axis]; });
      values_.low[static_cast<std::size_t>(axis)] = squeeze_position((*low)[axis]);
      values_.high[static_cast<std::size_t>(axis)] = squeeze_position((*high)[axis]);
    }
  }

  void encode_means(std::size_t byte) {
    encode_image(byte, [&, byte](std::size_t i, std::uint8_t* texel) {
      for (std::size_t a = 0; a < 3; ++a) {
        const double range = values_.high[a] - values_.low[a];
        const double t = squeeze_position(g_.mean[i][static_cast<int>(a)]) - values_.low[a];
        const std::uint32_t field = range > 0 ? to_unorm(static_cast<float>(t / range), 65535) : 0;
        texel[a] = static_cast<std::uint8_t>(field >> 8 * byte);
      }
    });
  }

  void encode_rotations() {
    encode_image(2, [&](std::size_t i, std::uint8_t* texel) {
      const Vec4f q = unit_quaternion(g_.rotation[i]);
      const SmallestThree code = encode_smallest_three({q.x, q.y, q.z, q.w}, UnormComponent{255});
      for (std::size_t k = 0; k < 3; ++k) texel[k] = static_cast<std::uint8_t>(code.fields[k]);
      texel[3] = static_cast<std::uint8_t>(252 + code.largest);
    });
  }

  void encode_scales() {
    values_.scale = make_codebook({&g_.log_scale[0].x, 3 * g_.size()});
    encode_image(
        3, [&](std::size_t i, std::uint8_t* texel) { put_entries(values_.scale, g_.log_scale[i], texel); });
  }

  void encode_colors() {
    const auto per_gaussian = static_cast<std::size_t>(g_.sh_count());
    std::vector<float> base(3 * g_.size());
    for (std::size_t i = 0; i < g_.size(); ++i) std::copy_n(&g_.sh[i * per_gaussian].x, 3, &base[3 * i]);
    values_.color = make_codebook(base);
    encode_image(4, [&](std::size_t i, std::uint8_t* texel) {
      put_entries(values_.color, g_.sh[i * per_gaussian], texel);
      texel[3] = opacity_byte(g_.logit_opacity[i]);
    });
  }

  void encode_harmonics() {
    const auto per_gaussian = static_cast<std::size_t>(g_.sh_count());
    const std::size_t coefficients = per_gaussian - 1;
    const Clusters clusters = cluster_rows({&g_.sh[1].x, g_.size(), 3 * per_gaussian, 3 * coefficients},
                                           palette_size_for(g_.size()));
    const std::size_t entries = clusters.centers.size() / (3 * coefficients);
    encode_palette(clusters, entries, coefficients);
    encode_image(6, [&](std::size_t i, std::uint8_t* texel) {
      texel[0] = static_cast<std::uint8_t>(clusters.labels[i]);
      texel[1] = static_cast<std::uint8_t>(clusters.labels[i] >> 8);
    });
    values_.palette_size = entries;
    values_.degree = g_.sh_degree;
  }

  void encode_palette(const Clusters& clusters, std::size_t entries, std::size_t coefficients) {
    // An entry counts as often as it is used.
    std::vector<float> uses(entries), weights(clusters.centers.size());
    for (const std::uint32_t label : clusters.labels) ++uses[label];
    for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = uses[i / (3 * coefficients)];
    values_.harmonics = make_codebook(clusters.centers, weights);
    SogImage image(static_cast<int>(kPaletteColumns * coefficients),
                   static_cast<int>((entries + kPaletteColumns - 1) / kPaletteColumns));
    for (std::size_t i = 0; i < entries * coefficients; ++i) {
      const float* rgb = &clusters.centers[3 * i];
      put_entries(values_.harmonics, {rgb[0], rgb[1], rgb[2]}, image.texel(i));
      image.texel(i)[3] = 255;
    }
    files_[5].bytes = encode_webp(image);
  }

  static void put_entries(const Codebook& codebook, const Vec3f& values, std::uint8_t* texel) {
    for (int k = 0; k < 3; ++k) texel[k] = nearest_entry(codebook, values[k]);
  }

  const Gaussians& g_;
  std::vector<std::uint32_t> order_;  // of the texels
  int width_ = 0, height_ = 0;
  SogMetaValues values_{};
  std::vector<NamedBytes> files_;
};

bool is_zip_name(const std::filesystem::path& path) { return path.extension() != ".json"; }

}  // namespace

void check_sog_can_hold(const Gaussians& g, const std::filesystem::path& path) {
  constexpr std::size_t kMost = std::size_t{kMaxWebpSide - 3} * (kMaxWebpSide - 3);
  if (g.size() == 0) throw Error(fmt::format("{}: SOG cannot hold a model without Gaussians", path.string()));
  if (g.size() > kMost)
    throw Error(fmt::format("{}: SOG cannot hold {} Gaussians, only {}", path.string(), g.size(), kMost));
  if (const std::size_t i = find_unusable(g); i < g.size())
    throw Error(
        fmt::format("{}: Gaussian {} has a value that is not a number or larger than 1e15, which SOG cannot "
                    "hold; remove such Gaussians first (stipple clean)",
                    path.string(), i));
}

void write_sog_folder(const std::filesystem::path& meta, std::span<const NamedBytes> files) {
  const std::filesystem::path folder = meta.parent_path();
  if (!folder.empty()) std::filesystem::create_directories(folder);
  // Without meta.json, the folder is not a model: it goes first, comes last, and never stands beside the
  // files of another model.
  std::filesystem::remove(meta);
  for (const NamedBytes& file : files) {
    OutputFile out(file.name == "meta.json" ? meta : folder / file.name);
    out.write(file.bytes);
    out.commit();
  }
}

std::vector<NamedBytes> encode_sog(const Gaussians& gaussians, std::vector<std::uint32_t> order,
                                   bool antialiased) {
  return SogWriter(gaussians, std::move(order), antialiased).encode();
}

namespace {

std::vector<NamedBytes> files_of(const Gaussians& gaussians, const std::filesystem::path& path,
                                 const SaveModelOptions& options) {
  check_sog_can_hold(gaussians, path);
  return encode_sog(gaussians, curve_order(gaussians.mean), options.antialiased);
}

}  // namespace

void write_sog(const Gaussians& gaussians, const std::string& name, const SaveModelOptions& options,
               const ByteSink& sink) {
  write_zip(files_of(gaussians, name, options), name, sink);
}

void save_sog(const Gaussians& gaussians, const std::filesystem::path& path,
              const SaveModelOptions& options) {
  const std::vector<NamedBytes> files = files_of(gaussians, path, options);
  if (is_zip_name(path))
    write_zip(path, files);
  else
    write_sog_folder(path, files);
}

}  // namespace stipple
