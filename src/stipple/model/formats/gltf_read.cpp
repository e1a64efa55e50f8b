// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "stipple/edit/flip_axes.h"
#include "stipple/edit/join.h"
#include "stipple/edit/similarity_transform.h"
#include "stipple/edit/transform.h"
#include "stipple/io/input_file.h"
#include "stipple/math/math.h"
#include "stipple/model/formats/gltf.h"
#include "stipple/model/formats/gltf_document.h"

namespace stipple {

namespace {

using nlohmann::json;

constexpr std::uint64_t kPoints = 0, kTriangles = 4;  // modes of primitives
constexpr std::uint64_t kMaxGaussians = std::uint64_t{1} << 32;

// The numbers of a list of this length, or nothing if there is none.
template <std::size_t N>
bool find_numbers(const GltfDocument& document, const json& node, const char* key,
                  std::array<double, N>& numbers) {
  const auto found = node.find(key);
  if (found == node.end()) return false;
  const auto is_number = [](const json& value) { return value.is_number(); };
  if (!found->is_array() || found->size() != N || !std::all_of(found->begin(), found->end(), is_number))
    document.fail(fmt::format("'{}' of a node is not a list of {} numbers", key, N));
  for (std::size_t i = 0; i < N; ++i) numbers[i] = (*found)[i].get<double>();
  return true;
}

// Rows of the matrix of a node: 3 of 4 numbers.
std::array<double, 12> matrix_of(const GltfDocument& document, const json& node) {
  std::array<double, 12> rows{};
  std::array<double, 16> matrix{};
  if (find_numbers(document, node, "matrix", matrix)) {
    for (std::size_t row = 0; row < 3; ++row)
      for (std::size_t column = 0; column < 4; ++column) rows[4 * row + column] = matrix[4 * column + row];
    return rows;
  }
  std::array<double, 3> translation{}, scale = {1, 1, 1};
  std::array<double, 4> q = {0, 0, 0, 1};
  find_numbers(document, node, "translation", translation);
  find_numbers(document, node, "rotation", q);
  find_numbers(document, node, "scale", scale);
  const Mat3<double> rotation = Math<double>::rotation_from_quaternion(Vec4<double>(q[3], q[0], q[1], q[2]));
  for (int row = 0; row < 3; ++row) {
    const auto first = static_cast<std::size_t>(4 * row);
    for (int column = 0; column < 3; ++column)
      rows[first + static_cast<std::size_t>(column)] =
          rotation[column][row] * scale[static_cast<std::size_t>(column)];
    rows[first + 3] = translation[static_cast<std::size_t>(row)];
  }
  return rows;
}

struct Primitive {
  const json* description;
  SimilarityTransform world_from_primitive;
};

class Reader {
 public:
  Reader(const std::filesystem::path& path, ModelFacts& facts) : document_(path), facts_(facts) {}

  Gaussians read() {
    check_extensions();
    find_primitives();
    if (primitives_.empty())
      document_.fail("there are no Gaussians (KHR_gaussian_splatting) in this glTF file");
    Gaussians all;
    for (std::size_t i = 0; i < primitives_.size(); ++i) {
      Gaussians gaussians = read_primitive(*primitives_[i].description);
      if (!(primitives_[i].world_from_primitive == SimilarityTransform{}))
        transform(primitives_[i].world_from_primitive, gaussians);
      if (i == 0)
        all = std::move(gaussians);
      else
        append(std::move(gaussians), all);
    }
    flip_axes(AxisFlip(true, true, false), all);  // from x left, y up, z front
    return all;
  }

 private:
  void check_extensions() const {
    const auto required = document_.root().find("extensionsRequired");
    if (required == document_.root().end()) return;
    if (!required->is_array()) document_.fail("'extensionsRequired' is not a list");
    for (const json& name : *required)
      if (name != kGltfSplatting && name != "KHR_mesh_quantization")
        document_.fail(fmt::format("the extension {} that the file requires is not supported",
                                   name.is_string() ? printable(name.get<std::string>()) : "(no name)"));
  }

  // Walks over the nodes of the scene, or of the whole file if it has no scene.
  void find_primitives() {
    const json& root = document_.root();
    if (root.contains("scenes")) {
      const json& scene = document_.item("scenes", document_.whole(root, "scene", 0));
      for (const std::uint64_t node : indices(scene, "nodes")) pending_.push_back({node, {}});
    } else if (const auto nodes = root.find("nodes"); nodes != root.end() && nodes->is_array()) {
      std::set<std::uint64_t> children;
      for (std::size_t i = 0; i < nodes->size(); ++i)
        for (const std::uint64_t child : indices(document_.item("nodes", i), "children"))
          children.insert(child);
      for (std::size_t i = 0; i < nodes->size(); ++i)
        if (children.count(i) == 0) pending_.push_back({i, {}});
    }
    // Back to front, so that nodes come in the order of the file.
    std::reverse(pending_.begin(), pending_.end());
    while (!pending_.empty()) {
      const auto [node, parent] = pending_.back();
      pending_.pop_back();
      visit(node, parent);
    }
  }

  void visit(std::uint64_t index, const SimilarityTransform& world_from_parent) {
    if (!visited_.insert(index).second)
      document_.fail(fmt::format("node {} is in the scene more than once", index));
    const json& node = document_.item("nodes", index);
    const auto children = indices(node, "children");
    const bool has_mesh = node.contains("mesh");
    if (!has_mesh && children.empty()) return;  // a camera or a light: its scale does not matter
    const SimilarityTransform world_from_node =
        world_from_parent *
        similarity_from_rows(matrix_of(document_, node),
                             fmt::format("{}: the matrix of node {}", document_.name(), index));
    if (has_mesh) add_mesh(document_.whole(node, "mesh"), world_from_node);
    for (auto child = children.rbegin(); child != children.rend(); ++child)
      pending_.push_back({*child, world_from_node});
  }

  void add_mesh(std::uint64_t index, const SimilarityTransform& world_from_mesh) {
    const json& mesh = document_.item("meshes", index);
    const auto primitives = mesh.find("primitives");
    if (primitives == mesh.end() || !primitives->is_array())
      document_.fail(fmt::format("mesh {} has no primitives", index));
    const std::size_t before = primitives_.size();
    for (const json& primitive : *primitives)
      if (is_splatting(primitive)) primitives_.push_back({&primitive, world_from_mesh});
    if (primitives_.size() > before && !used_meshes_.insert(index).second)
      document_.fail(fmt::format("mesh {} is in the scene more than once, which is not supported", index));
  }

  static bool is_splatting(const json& primitive) {
    if (!primitive.is_object()) return false;
    const auto extensions = primitive.find("extensions");
    return extensions != primitive.end() && extensions->is_object() && extensions->contains(kGltfSplatting);
  }

  std::vector<std::uint64_t> indices(const json& object, const char* key) const {
    const auto found = object.find(key);
    if (found == object.end()) return {};
    if (!found->is_array()) document_.fail(fmt::format("'{}' is not a list", key));
    std::vector<std::uint64_t> result;
    for (const json& value : *found) {
      if (!value.is_number_unsigned()) document_.fail(fmt::format("'{}' is not a list of indices", key));
      result.push_back(value.get<std::uint64_t>());
    }
    return result;
  }

  void check_kernel(const json& primitive) {
    const json& extension = primitive.at("extensions").at(kGltfSplatting);
    if (!extension.is_object()) document_.fail("KHR_gaussian_splatting is not an object");
    if (document_.whole(primitive, "mode", kTriangles) != kPoints)
      document_.fail("Gaussians are in a primitive that does not have the mode of points");
    if (const auto kernel = extension.find("kernel"); kernel != extension.end() && *kernel != "ellipse")
      document_.fail(fmt::format("the kernel of Gaussians is {}, of which only \"ellipse\" is supported",
                                 printable(kernel->dump(-1, ' ', true))));
    if (const auto space = extension.find("colorSpace");
        space != extension.end() && *space == "lin_rec709_display")
      facts_.left_out = "the colour space lin_rec709_display";
    if (extension.contains("extensions"))
      document_.fail("compressed Gaussians in glTF are not supported; export without compression");
  }

  Gaussians read_primitive(const json& primitive) {
    check_kernel(primitive);
    const auto found = primitive.find("attributes");
    if (found == primitive.end() || !found->is_object()) document_.fail("a primitive has no attributes");
    const json& attributes = *found;
    const std::uint64_t count = document_.accessor_count(document_.whole(attributes, "POSITION"));
    // Each element has at least 3 bytes of its own. A file that uses them again and again would fill any
    // memory.
    count_ += count;
    if (count > kMaxGaussians || count_ > document_.data_bytes() / 3)
      document_.fail(fmt::format("the file has no room for {} Gaussians", count_));
    const int degree = degree_of(attributes);
    for (const std::string& name : names_of(degree))
      if (document_.accessor_count(document_.whole(attributes, name.c_str())) != count)
        document_.fail(fmt::format("{} does not have {} elements, as POSITION has", name, count));
    Gaussians gaussians = make_gaussians(0, degree);
    fill(attributes, count, gaussians);
    return gaussians;
  }

  static int degree_of(const json& attributes) {
    int degree = 0;
    while (degree < 3 && attributes.contains(gltf_harmonic_name((degree + 1) * (degree + 1)))) ++degree;
    return degree;
  }

  static std::vector<std::string> names_of(int degree) {
    const std::string prefix = fmt::format("{}:", kGltfSplatting);
    std::vector<std::string> names = {prefix + "ROTATION", prefix + "SCALE", prefix + "OPACITY"};
    for (int k = 0; k < (degree + 1) * (degree + 1); ++k) names.push_back(gltf_harmonic_name(k));
    return names;
  }

  void fill(const json& attributes, std::uint64_t count, Gaussians& g) const {
    const std::string prefix = fmt::format("{}:", kGltfSplatting);
    const auto n = static_cast<std::size_t>(count);
    const auto read = [&](const std::string& name, std::string_view type, const auto& store) {
      document_.read(document_.whole(attributes, name.c_str()), type, store);
    };
    // An array is allocated when its accessor has turned out to have the data.
    read("POSITION", "VEC3", [&](std::size_t i, const float* v) {
      if (g.mean.empty()) g.mean.resize(n);
      g.mean[i] = {v[0], v[1], v[2]};
    });
    read(prefix + "ROTATION", "VEC4", [&](std::size_t i, const float* v) {
      if (g.rotation.empty()) g.rotation.resize(n);
      g.rotation[i] = {v[3], v[0], v[1], v[2]};
    });
    read(prefix + "SCALE", "VEC3", [&](std::size_t i, const float* v) {
      if (g.log_scale.empty()) g.log_scale.resize(n);
      const auto log_of = [](float scale) {
        return std::log(std::max(scale, std::numeric_limits<float>::min()));
      };
      g.log_scale[i] = {log_of(v[0]), log_of(v[1]), log_of(v[2])};
    });
    read(prefix + "OPACITY", "SCALAR", [&](std::size_t i, const float* v) {
      if (g.logit_opacity.empty()) g.logit_opacity.resize(n);
      // The logits of 0 and 1 are infinite.
      constexpr float kLeast = std::numeric_limits<float>::min(), kMost = 1 - 0x1p-24f;
      g.logit_opacity[i] = Math<float>::logit(std::clamp(v[0], kLeast, kMost));
    });
    const auto sh_count = static_cast<std::size_t>(g.sh_count());
    for (std::size_t k = 0; k < sh_count; ++k)
      read(gltf_harmonic_name(static_cast<int>(k)), "VEC3", [&](std::size_t i, const float* v) {
        if (g.sh.empty()) g.sh.resize(n * sh_count);
        g.sh[i * sh_count + k] = {v[0], v[1], v[2]};
      });
  }

  GltfDocument document_;
  ModelFacts& facts_;
  std::vector<std::pair<std::uint64_t, SimilarityTransform>> pending_;  // nodes, and world from their parent
  std::set<std::uint64_t> visited_, used_meshes_;
  std::vector<Primitive> primitives_;
  std::uint64_t count_ = 0;  // Gaussians in the primitives so far
};

}  // namespace

bool is_glb(std::span<const std::byte> head) { return as_text(head).starts_with("glTF"); }

Gaussians load_gltf(const std::filesystem::path& path, ModelFacts& facts) {
  facts.format = "glTF";
  return Reader(path, facts).read();
}

}  // namespace stipple
