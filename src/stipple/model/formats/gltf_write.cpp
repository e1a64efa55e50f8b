// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/edit/flip_axes.h"
#include "stipple/io/json.h"
#include "stipple/io/output_file.h"
#include "stipple/model/formats/gltf.h"
#include "stipple/model/formats/quantise.h"

namespace stipple {

namespace {

using nlohmann::ordered_json;

constexpr std::size_t kGaussiansPerPiece = std::size_t{1} << 16;
constexpr int kUnsignedByte = 5121, kFloat = 5126;  // component types
constexpr int kArrayBuffer = 34962, kPoints = 0;
constexpr std::uint32_t kMagic = 0x46546c67, kJsonChunk = 0x4e4f534a, kBinaryChunk = 0x004e4942;

const AxisFlip kToGltf(true, true, false);  // x left, y up, z front

// The format has no NaN and no infinities.
float finite(float value) {
  if (std::isnan(value)) return 0;
  return std::clamp(value, std::numeric_limits<float>::lowest(), std::numeric_limits<float>::max());
}
Vec3f finite(Vec3f v) { return {finite(v.x), finite(v.y), finite(v.z)}; }

// A Gaussian without a place must not appear at another one.
float opacity_of(const Gaussians& g, std::size_t i) {
  const bool has_place = g.mean[i] == finite(g.mean[i]);
  return has_place ? finite(Math<float>::sigmoid(g.logit_opacity[i])) : 0;
}

Vec3f mean_of(const Gaussians& g, std::size_t i) { return kToGltf.mean(finite(g.mean[i])); }

struct Attribute {
  std::string name;
  const char* type;
  int components;
  int component_type;
  std::function<void(std::size_t, float*)> values;  // of a Gaussian; bytes are given as 0 to 255

  std::size_t bytes() const {
    return static_cast<std::size_t>(components) * (component_type == kFloat ? sizeof(float) : 1);
  }
};

void store(Vec3f v, float* to) { std::copy_n(std::array{v.x, v.y, v.z}.begin(), 3, to); }

std::vector<Attribute> attributes_of(const Gaussians& g) {
  const std::string prefix = std::string(kGltfSplatting) + ":";
  const auto sh_count = static_cast<std::size_t>(g.sh_count());
  std::vector<Attribute> list;
  list.push_back(
      {"POSITION", "VEC3", 3, kFloat, [&g](std::size_t i, float* to) { store(mean_of(g, i), to); }});
  // What viewers show that do not know the extension.
  list.push_back({"COLOR_0", "VEC4", 4, kUnsignedByte, [&g, sh_count](std::size_t i, float* to) {
                    for (int c = 0; c < 3; ++c)
                      to[c] = static_cast<float>(to_unorm(color_from_base(g.sh[i * sh_count][c]), 255));
                    to[3] = static_cast<float>(to_unorm(opacity_of(g, i), 255));
                  }});
  list.push_back({prefix + "ROTATION", "VEC4", 4, kFloat, [&g](std::size_t i, float* to) {
                    const Vec4f q = kToGltf.rotation(unit_quaternion(g.rotation[i]));
                    std::copy_n(std::array{q.y, q.z, q.w, q.x}.begin(), 4, to);
                  }});
  list.push_back({prefix + "SCALE", "VEC3", 3, kFloat, [&g](std::size_t i, float* to) {
                    store(finite(Math<float>::scale_from_log(g.log_scale[i], 1)), to);
                  }});
  list.push_back(
      {prefix + "OPACITY", "SCALAR", 1, kFloat, [&g](std::size_t i, float* to) { *to = opacity_of(g, i); }});
  for (std::size_t k = 0; k < sh_count; ++k)
    list.push_back({gltf_harmonic_name(static_cast<int>(k)), "VEC3", 3, kFloat,
                    [&g, sh_count, k](std::size_t i, float* to) {
                      store(kToGltf.sh(k, finite(g.sh[i * sh_count + k])), to);
                    }});
  return list;
}

void add_bounds(const Gaussians& g, ordered_json& accessor) {
  Vec3f low = mean_of(g, 0), high = low;
  for (std::size_t i = 1; i < g.size(); ++i) {
    const Vec3f mean = mean_of(g, i);
    for (int c = 0; c < 3; ++c) {
      low[c] = std::min(low[c], mean[c]);
      high[c] = std::max(high[c], mean[c]);
    }
  }
  accessor["min"] = {low.x, low.y, low.z};
  accessor["max"] = {high.x, high.y, high.z};
}

std::string document(const Gaussians& g, const std::vector<Attribute>& attributes, std::uint64_t total) {
  ordered_json views = ordered_json::array(), accessors = ordered_json::array(),
               names = ordered_json::object();
  std::uint64_t offset = 0;
  for (const Attribute& attribute : attributes) {
    const std::uint64_t bytes = g.size() * attribute.bytes();
    views.push_back({{"buffer", 0}, {"byteOffset", offset}, {"byteLength", bytes}, {"target", kArrayBuffer}});
    ordered_json accessor = {{"bufferView", accessors.size()},
                             {"componentType", attribute.component_type},
                             {"count", g.size()},
                             {"type", attribute.type}};
    if (attribute.component_type == kUnsignedByte) accessor["normalized"] = true;
    if (attribute.name == "POSITION") add_bounds(g, accessor);
    names[attribute.name] = accessors.size();
    accessors.push_back(std::move(accessor));
    offset += bytes;
  }
  const ordered_json splatting = {{"kernel", "ellipse"},
                                  {"colorSpace", "srgb_rec709_display"},
                                  {"sortingMethod", "cameraDistance"},
                                  {"projection", "perspective"}};
  const ordered_json primitive = {
      {"attributes", std::move(names)}, {"mode", kPoints}, {"extensions", {{kGltfSplatting, splatting}}}};
  ordered_json root;
  root["asset"] = {{"version", "2.0"}, {"generator", "Stipple"}};
  root["extensionsUsed"] = ordered_json::array({kGltfSplatting});
  root["scene"] = 0;
  root["scenes"] = ordered_json::array({{{"nodes", ordered_json::array({0})}}});
  root["nodes"] = ordered_json::array({{{"mesh", 0}}});
  root["meshes"] = ordered_json::array({{{"primitives", ordered_json::array({primitive})}}});
  root["accessors"] = std::move(accessors);
  root["bufferViews"] = std::move(views);
  root["buffers"] = ordered_json::array({{{"byteLength", total}}});
  std::string text = root.dump();
  text.resize((text.size() + 3) / 4 * 4, ' ');
  return text;
}

void write_numbers(OutputFile& file, std::initializer_list<std::uint32_t> numbers) {
  static_assert(std::endian::native == std::endian::little);
  file.write(std::as_bytes(std::span(numbers.begin(), numbers.size())));
}

void write_attribute(OutputFile& file, const Gaussians& g, const Attribute& attribute) {
  const auto width = static_cast<std::size_t>(attribute.components);
  std::vector<float> piece;
  std::vector<std::uint8_t> bytes;
  for (std::size_t begin = 0; begin < g.size(); begin += kGaussiansPerPiece) {
    const std::size_t count = std::min(kGaussiansPerPiece, g.size() - begin);
    piece.resize(count * width);
    parallel_for(
        count, [&](std::size_t i) { attribute.values(begin + i, piece.data() + i * width); }, 1024);
    if (attribute.component_type == kFloat) {
      file.write(std::as_bytes(std::span(piece)));
      continue;
    }
    bytes.resize(piece.size());
    std::transform(piece.begin(), piece.end(), bytes.begin(),
                   [](float value) { return static_cast<std::uint8_t>(value); });
    file.write(std::as_bytes(std::span(bytes)));
  }
}

}  // namespace

std::string gltf_harmonic_name(int k) {
  const int degree = k == 0 ? 0 : k < 4 ? 1 : k < 9 ? 2 : 3;
  return fmt::format("{}:SH_DEGREE_{}_COEF_{}", kGltfSplatting, degree, k - degree * degree);
}

void save_glb(const Gaussians& gaussians, const std::filesystem::path& path, const SaveModelOptions&) {
  if (gaussians.size() == 0)
    throw Error(fmt::format("{}: glTF cannot hold a model without Gaussians", path.string()));
  const std::vector<Attribute> attributes = attributes_of(gaussians);
  std::uint64_t total = 0;
  for (const Attribute& attribute : attributes) total += gaussians.size() * attribute.bytes();
  const std::string text = document(gaussians, attributes, total);
  const std::uint64_t file_bytes = 12 + 8 + text.size() + 8 + total;
  if (file_bytes > std::numeric_limits<std::uint32_t>::max())
    throw Error(fmt::format("{}: a .glb is limited to 4 GiB, and {} Gaussians of SH degree {} take more",
                            path.string(), gaussians.size(), gaussians.sh_degree));
  OutputFile file(path);
  write_numbers(file, {kMagic, 2, static_cast<std::uint32_t>(file_bytes),
                       static_cast<std::uint32_t>(text.size()), kJsonChunk});
  file.write(text);
  write_numbers(file, {static_cast<std::uint32_t>(total), kBinaryChunk});
  for (const Attribute& attribute : attributes) write_attribute(file, gaussians, attribute);
  file.commit();
}

}  // namespace stipple
