// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/gltf.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "stipple/edit/flip_axes.h"
#include "stipple/edit/similarity_transform.h"
#include "stipple/edit/transform.h"
#include "stipple/io/base64.h"
#include "stipple/io/json.h"
#include "stipple/math/math.h"
#include "stipple/model/model_file.h"
#include "tests/helpers/ply_builder.h"
#include "tests/helpers/random_model.h"
#include "tests/helpers/sample_models.h"
#include "tests/helpers/source_folder.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

using nlohmann::json;
using M = Math<float>;

void expect_same_model(const Gaussians& a, const Gaussians& b, float tolerance = 1e-6f) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.sh_degree, b.sh_degree);
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    const Mat3f p = M::covariance({M::scale_from_log(a.log_scale[i], 1), a.rotation[i]});
    const Mat3f q = M::covariance({M::scale_from_log(b.log_scale[i], 1), b.rotation[i]});
    for (int c = 0; c < 3; ++c) {
      EXPECT_NEAR(a.mean[i][c], b.mean[i][c], 20 * tolerance);
      for (int row = 0; row < 3; ++row) EXPECT_NEAR(p[c][row], q[c][row], 10 * tolerance);
    }
    EXPECT_NEAR(M::sigmoid(a.logit_opacity[i]), M::sigmoid(b.logit_opacity[i]), tolerance);
  }
  for (std::size_t i = 0; i < a.sh.size(); ++i)
    for (int c = 0; c < 3; ++c) EXPECT_NEAR(a.sh[i][c], b.sh[i][c], tolerance);
}

struct Parts {
  json document;
  std::string data;
};

Parts parts_of(const std::string& glb) {
  std::uint32_t json_bytes = 0;
  std::memcpy(&json_bytes, &glb.at(12), 4);
  return {json::parse(glb.substr(20, json_bytes)), glb.substr(28 + json_bytes)};
}

std::string base64(const std::string& bytes) { return encode_base64(std::as_bytes(std::span(bytes))); }

class Gltf : public ::testing::Test {
 protected:
  Parts saved(const Gaussians& model) {
    save_model(model, folder / "whole.glb");
    return parts_of(read_file(folder / "whole.glb"));
  }
  // The document of a small model with its data embedded, after a change.
  std::filesystem::path write_changed(const std::function<void(json&)>& change) {
    Parts parts = saved(random_model(3, 1));
    parts.document["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64(parts.data);
    change(parts.document);
    return folder.write("a.gltf", parts.document.dump());
  }
  std::string complaint(const std::function<void(json&)>& change) {
    const std::filesystem::path path = write_changed(change);
    const std::string message = error_of([&] { load_model(path); });
    EXPECT_EQ(message.find(path.string() + ": "), 0u) << message;
    return message.substr(std::min(message.size(), path.string().size() + 2));
  }
  TestFolder folder;
};

TEST_F(Gltf, RoundTripKeepsEveryField) {
  for (int degree = 0; degree <= 3; ++degree) {
    const Gaussians before = random_model(200, degree);
    save_model(before, folder / "a.glb");
    ModelFacts facts;
    const Gaussians after = load_model(folder / "a.glb", &facts);
    EXPECT_EQ(facts.format, "glTF");
    EXPECT_EQ(facts.left_out, "");
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_EQ(after.mean[i], before.mean[i]);
      const Vec4f q = before.rotation[i] * (1 / std::sqrt(dot(before.rotation[i], before.rotation[i])));
      const Vec4f d = after.rotation[i] - q;
      EXPECT_LT(dot(d, d), 1e-12f);
      for (int c = 0; c < 3; ++c) EXPECT_NEAR(after.log_scale[i][c], before.log_scale[i][c], 2e-6f);
      EXPECT_NEAR(M::sigmoid(after.logit_opacity[i]), M::sigmoid(before.logit_opacity[i]), 2e-7f);
    }
    EXPECT_TRUE(std::equal(after.sh.begin(), after.sh.end(), before.sh.begin(), before.sh.end()));
  }
}

TEST_F(Gltf, ReadsWhatSplatTransformWrote) {
  const std::filesystem::path samples = source_folder() / "tests/data/models";
  const Gaussians original = load_model(samples / "spz/original.ply");
  expect_same_model(load_model(samples / "gltf/splat_transform.glb"), original);
}

// The numbers are those that splat-transform wrote for the same model, except that it leaves quaternions of
// any length and turns the Gaussians' own axes along.
TEST_F(Gltf, WritesWhatSplatTransformWrote) {
  const std::filesystem::path samples = source_folder() / "tests/data/models";
  const Parts theirs = parts_of(read_file(samples / "gltf/splat_transform.glb"));
  const Parts ours = saved(load_model(samples / "spz/original.ply"));
  const auto primitive = [](const Parts& parts) { return parts.document["meshes"][0]["primitives"][0]; };
  EXPECT_EQ(primitive(ours)["mode"], primitive(theirs)["mode"]);
  EXPECT_EQ(primitive(ours)["extensions"], primitive(theirs)["extensions"]);
  EXPECT_EQ(ours.document["extensionsUsed"], theirs.document["extensionsUsed"]);
  const auto bytes_of = [&](const Parts& parts, const std::string& name, json& accessor) {
    accessor = parts.document["accessors"][primitive(parts)["attributes"][name].get<std::size_t>()];
    const json& view = parts.document["bufferViews"][accessor["bufferView"].get<std::size_t>()];
    accessor.erase("bufferView");
    accessor.erase("byteOffset");
    return parts.data.substr(view["byteOffset"], view["byteLength"]);
  };
  const json attributes = primitive(theirs)["attributes"];
  EXPECT_EQ(attributes.size(), primitive(ours)["attributes"].size());
  for (const auto& [name, index] : attributes.items()) {
    SCOPED_TRACE(name);
    json a, b;
    const std::string our_bytes = bytes_of(ours, name, a), their_bytes = bytes_of(theirs, name, b);
    EXPECT_EQ(a, b);
    ASSERT_EQ(our_bytes.size(), their_bytes.size());
    if (name.ends_with("ROTATION")) continue;
    if (name == "COLOR_0") {
      EXPECT_EQ(our_bytes, their_bytes);
      continue;
    }
    for (std::size_t i = 0; i < our_bytes.size(); i += 4) {
      float x = 0, y = 0;
      std::memcpy(&x, &our_bytes[i], 4);
      std::memcpy(&y, &their_bytes[i], 4);
      EXPECT_NEAR(x, y, 1e-6f);
    }
  }
}

TEST_F(Gltf, WritesAnyValueAsAFiniteOne) {
  Gaussians strange = with_strange_values(random_model(500, 2));
  const Parts parts = saved(strange);
  const Gaussians once = load_model(folder / "whole.glb");
  EXPECT_TRUE(all_finite(once));
  for (std::size_t i = 0; i < strange.size(); ++i)
    if (!std::isfinite(strange.mean[i].x)) {
      EXPECT_LT(M::sigmoid(once.logit_opacity[i]), 1e-30f);
    }
  for (const char* bound : {"min", "max"})
    for (const json& value : parts.document["accessors"][0][bound]) EXPECT_TRUE(value.is_number());
  save_model(once, folder / "b.glb");
  const Gaussians twice = load_model(folder / "b.glb");
  EXPECT_TRUE(twice.mean == once.mean && twice.sh == once.sh);
  for (std::size_t i = 0; i < once.size(); ++i)
    for (int c = 0; c < 3; ++c) EXPECT_FLOAT_EQ(twice.log_scale[i][c], once.log_scale[i][c]);
}

TEST_F(Gltf, ReadsEmbeddedAndExternalBuffers) {
  const Gaussians model = random_model(40, 3);
  Parts parts = saved(model);
  json embedded = parts.document;
  embedded["buffers"][0]["uri"] = "data:application/octet-stream;base64," + base64(parts.data);
  folder.write("embedded.gltf", embedded.dump());
  json external = parts.document;
  external["buffers"][0]["uri"] = "my%20data/a.bin";
  std::filesystem::create_directory(folder / "my data");
  folder.write("my data/a.bin", parts.data);
  folder.write("external.gltf", external.dump());
  for (const char* name : {"embedded.gltf", "external.gltf", "whole.glb"})
    expect_same_model(load_model(folder / name), model);
}

TEST_F(Gltf, NodesMoveTheirGaussians) {
  const Gaussians model = load_model(write_changed([](json&) {}));
  Gaussians in_gltf = model;
  flip_axes(AxisFlip(true, true, false), in_gltf);
  const SimilarityTransform parent{rotation_about_axes({0, 0, 90}).rotation, 1, {0, 0, 5}};
  const SimilarityTransform child{rotation_about_axes({180, 0, 0}).rotation, 2, {1, 2, 3}};
  Gaussians expected = in_gltf;
  transform(parent * child, expected);
  flip_axes(AxisFlip(true, true, false), expected);
  const float half = std::sqrt(0.5f);
  const auto path = write_changed([&](json& d) {
    d["nodes"] = {{{"children", {1}}, {"rotation", {0, 0, half, half}}, {"translation", {0, 0, 5}}},
                  // Columns: x stays, y and z are reversed, all are doubled.
                  {{"mesh", 0}, {"matrix", {2, 0, 0, 0, 0, -2, 0, 0, 0, 0, -2, 0, 1, 2, 3, 1}}}};
  });
  expect_same_model(load_model(path), expected, 1e-5f);
  const auto same = write_changed([&](json& d) {
    d["nodes"] = {
        {{"children", {1}}, {"rotation", {0, 0, half, half}}, {"translation", {0, 0, 5}}},
        {{"mesh", 0}, {"rotation", {1, 0, 0, 0}}, {"scale", {2, 2, 2}}, {"translation", {1, 2, 3}}}};
    d.erase("scene");
    d.erase("scenes");
  });
  expect_same_model(load_model(same), expected, 1e-5f);
}

TEST_F(Gltf, JoinsPrimitives) {
  const auto path = write_changed([](json& d) {
    // Two primitives with one and two of the three Gaussians.
    json& accessors = d["accessors"];
    json second = d["meshes"][0]["primitives"][0];
    for (auto& [name, index] : second["attributes"].items()) {
      json accessor = accessors[index.get<std::size_t>()];
      const json& view = d["bufferViews"][accessor["bufferView"].get<std::size_t>()];
      accessors[index.get<std::size_t>()]["count"] = 1;
      accessor["count"] = 2;
      accessor["byteOffset"] = view["byteLength"].get<int>() / 3;
      index = accessors.size();
      accessors.push_back(accessor);
    }
    d["meshes"][0]["primitives"].push_back(second);
  });
  expect_same_model(load_model(path), load_model(folder / "whole.glb"));
}

TEST_F(Gltf, ReadsNormalisedIntegers) {
  const auto path = write_changed([](json& d) {
    const std::string rotations("\x7f\0\0\0\0\x81\0\0\0\0\0\x7f", 12);  // bytes: x, -y and the identity
    const std::string opacities("\xff\xff\x00\x80\0\0", 6);             // shorts: 1, 1/2, 0
    d["buffers"].push_back({{"byteLength", 18}, {"uri", "data:;base64," + base64(rotations + opacities)}});
    d["bufferViews"].push_back({{"buffer", 1}, {"byteLength", 12}});
    d["bufferViews"].push_back({{"buffer", 1}, {"byteOffset", 12}, {"byteLength", 6}});
    const std::size_t view = d["bufferViews"].size() - 2;
    d["accessors"][2] = {
        {"bufferView", view}, {"componentType", 5120}, {"normalized", true}, {"count", 3}, {"type", "VEC4"}};
    d["accessors"][4] = {{"bufferView", view + 1},
                         {"componentType", 5123},
                         {"normalized", true},
                         {"count", 3},
                         {"type", "SCALAR"}};
  });
  const Gaussians model = load_model(path);
  // A flip of x and y reverses the x and y of a quaternion.
  EXPECT_EQ(model.rotation[0], Vec4f(0, -1, 0, 0));
  EXPECT_EQ(model.rotation[1], Vec4f(0, 0, 1, 0));
  EXPECT_EQ(model.rotation[2], Vec4f(1, 0, 0, 0));
  EXPECT_GT(model.logit_opacity[0], 16);
  EXPECT_NEAR(model.logit_opacity[1], 0, 1e-4f);
  EXPECT_LT(model.logit_opacity[2], -80);
}

TEST_F(Gltf, ReadsInterleavedData) {
  const Gaussians model = random_model(3, 0);
  Parts parts = saved(model);
  json& d = parts.document;
  std::string rows;
  for (std::size_t i = 0; i < 3; ++i)
    for (const json& view : d["bufferViews"]) {
      const std::size_t each = view["byteLength"].get<std::size_t>() / 3;
      rows += parts.data.substr(view["byteOffset"].get<std::size_t>() + i * each, each);
    }
  std::size_t offset = 0;
  for (json& accessor : d["accessors"]) {
    accessor["byteOffset"] = offset;
    offset +=
        d["bufferViews"][accessor["bufferView"].get<std::size_t>()]["byteLength"].get<std::size_t>() / 3;
    accessor["bufferView"] = 0;
  }
  d["bufferViews"] = {{{"buffer", 0}, {"byteLength", rows.size()}, {"byteStride", offset}}};
  d["buffers"][0]["uri"] = "rows.bin";
  folder.write("rows.bin", rows);
  expect_same_model(load_model(folder.write("a.gltf", d.dump())), model);
}

TEST_F(Gltf, DocumentsThatLieAreRejected) {
  const auto accessor = [&](const char* key, const json& value) {
    return complaint([&](json& d) { d["accessors"][2][key] = value; });
  };
  const auto view = [&](const char* key, const json& value) {
    return complaint([&](json& d) { d["bufferViews"][2][key] = value; });
  };
  const std::string range = " is not a whole number in the range allowed";
  EXPECT_EQ(accessor("count", 4),
            "KHR_gaussian_splatting:ROTATION does not have 3 elements, as POSITION has");
  EXPECT_EQ(accessor("count", -1), "'count'" + range);
  EXPECT_EQ(accessor("count", 3.0), "'count'" + range);
  EXPECT_EQ(accessor("byteOffset", 1),
            "accessor 2 has 3 elements, which its part of the buffer has no room for");
  EXPECT_EQ(accessor("byteOffset", ~std::uint64_t{0}), "'byteOffset'" + range);
  EXPECT_EQ(accessor("byteOffset", std::uint64_t{1} << 47),
            "accessor 2 has 3 elements, which its part of the buffer has no room for");
  EXPECT_EQ(accessor("componentType", 5125), "accessor 2 has the component type 5125");
  EXPECT_EQ(accessor("type", "VEC3"), "accessor 2 is not a VEC4");
  EXPECT_EQ(accessor("type", 4), "accessor 2 is not a VEC4");
  EXPECT_EQ(accessor("sparse", json::object()),
            "accessor 2 is sparse, which is not supported; export without that");
  EXPECT_EQ(accessor("bufferView", 99), "there is no object 99 in 'bufferViews'");
  EXPECT_EQ(view("byteLength", 1'000'000), "accessor 2 refers to data outside its buffer");
  EXPECT_EQ(view("byteOffset", 1'000'000), "accessor 2 refers to data outside its buffer");
  EXPECT_EQ(view("byteStride", 0), "accessor 2 has a stride that cannot be");
  EXPECT_EQ(view("byteStride", 15), "accessor 2 has a stride that cannot be");
  EXPECT_EQ(view("byteStride", 253), "accessor 2 has a stride that cannot be");
  EXPECT_EQ(view("byteStride", 20),
            "accessor 2 has 3 elements, which its part of the buffer has no room for");
  EXPECT_EQ(view("buffer", 1), "there is no object 1 in 'buffers'");
  EXPECT_EQ(complaint([](json& d) { d["accessors"][0]["count"] = 1'000'000; }),
            "the file has no room for 1000000 Gaussians");
}

TEST_F(Gltf, PrimitivesThatCannotBeReadAreRejected) {
  const auto primitive = [&](const std::function<void(json&)>& change) {
    return complaint([&](json& d) { change(d["meshes"][0]["primitives"][0]); });
  };
  EXPECT_EQ(primitive([](json& p) { p.erase("extensions"); }),
            "there are no Gaussians (KHR_gaussian_splatting) in this glTF file");
  EXPECT_EQ(primitive([](json& p) { p.erase("mode"); }),
            "Gaussians are in a primitive that does not have the mode of points");
  EXPECT_EQ(primitive([](json& p) { p["attributes"].erase("KHR_gaussian_splatting:SCALE"); }),
            "'KHR_gaussian_splatting:SCALE' is missing");
  EXPECT_EQ(primitive([](json& p) { p["attributes"].erase("KHR_gaussian_splatting:SH_DEGREE_1_COEF_2"); }),
            "'KHR_gaussian_splatting:SH_DEGREE_1_COEF_2' is missing");
  EXPECT_EQ(primitive([](json& p) { p["extensions"]["KHR_gaussian_splatting"]["kernel"] = "box"; }),
            "the kernel of Gaussians is \"box\", of which only \"ellipse\" is supported");
  EXPECT_EQ(
      primitive([](json& p) { p["extensions"]["KHR_gaussian_splatting"]["extensions"] = json::object(); }),
      "compressed Gaussians in glTF are not supported; export without compression");
  EXPECT_EQ(complaint([](json& d) { d["extensionsRequired"] = {"KHR_draco_mesh_compression"}; }),
            "the extension KHR_draco_mesh_compression that the file requires is not supported");
  ModelFacts facts;
  load_model(write_changed([](json& d) {
               d["meshes"][0]["primitives"][0]["extensions"]["KHR_gaussian_splatting"]["colorSpace"] =
                   "lin_rec709_display";
             }),
             &facts);
  EXPECT_EQ(facts.left_out, "the colour space lin_rec709_display");
}

// A file that is listed as many buffers has its data once: it must not allow for many times the Gaussians.
TEST_F(Gltf, AFileThatIsManyBuffersCountsOnce) {
  Parts parts = saved(random_model(3, 1));
  folder.write("a.bin", parts.data);
  json& buffers = parts.document["buffers"];
  for (const char* name : {"a.bin", "./a.bin", "b/../a.bin"}) {
    json buffer = buffers[0];
    buffer["uri"] = name;
    for (int i = 0; i < 10; ++i) buffers.push_back(buffer);
  }
  buffers.erase(0);
  json& primitives = parts.document["meshes"][0]["primitives"];
  while (primitives.size() < 40) primitives.push_back(json(primitives[0]));
  const std::filesystem::path path = folder.write("a.gltf", parts.document.dump());
  EXPECT_EQ(error_of([&] { load_model(path); }), path.string() + ": the file has no room for 99 Gaussians");
}

TEST_F(Gltf, ScenesThatAreNoTreeAreRejected) {
  EXPECT_EQ(complaint([](json& d) { d["nodes"][0]["children"] = {0}; }),
            "node 0 is in the scene more than once");
  EXPECT_EQ(complaint([](json& d) {
              d["nodes"].push_back({{"mesh", 0}});
              d["scenes"][0]["nodes"] = {0, 1};
            }),
            "mesh 0 is in the scene more than once, which is not supported");
  EXPECT_EQ(complaint([](json& d) { d["nodes"][0]["mesh"] = 1; }), "there is no object 1 in 'meshes'");
  EXPECT_EQ(complaint([](json& d) { d["nodes"][0]["children"] = {"a"}; }),
            "'children' is not a list of indices");
  EXPECT_EQ(complaint([](json& d) {
              d["nodes"][0]["scale"] = {1, 2};
            }),
            "'scale' of a node is not a list of 3 numbers");
  EXPECT_NE(complaint([](json& d) { d["nodes"][0]["scale"] = {1, 2, 1}; }), "");
  EXPECT_NE(complaint([](json& d) { d["nodes"][0]["scale"] = {0, 0, 0}; }), "");
  EXPECT_EQ(complaint([](json& d) { d = json::array(); }), "the JSON is not valid");
  EXPECT_EQ(complaint([](json& d) {
              for (int depth = 0; depth < 80; ++depth) d = json::array({d});
            }),
            "the JSON is nested more than 64 levels deep");
}

TEST_F(Gltf, BuffersStayInTheFolder) {
  const auto uri = [&](const json& value) {
    return complaint([&](json& d) { d["buffers"][0]["uri"] = value; });
  };
  for (const char* name :
       {"/etc/passwd", "../a.bin", "a/../../a.bin", "%2e%2e/a.bin", "..\\a.bin", "C:/a.bin"})
    EXPECT_EQ(uri(name), std::string("the uri of buffer 0 leads outside the folder: ") + name);
  for (const char* address : {"https://example.com/a.bin", "file:///etc/passwd"})
    EXPECT_EQ(uri(address), std::string("buffer 0 is not a local file, but at ") + address +
                                "; download it, and name the file instead");
  EXPECT_EQ(uri(3), "the uri of buffer 0 is not a text");
  EXPECT_EQ(uri("data:application/octet-stream;base64,AA!A"), "the data of buffer 0 are not base64");
  EXPECT_EQ(uri("data:application/octet-stream,AAAA"), "the data of buffer 0 are not base64");
  EXPECT_EQ(uri("data:application/octet-stream;base64,AAAA"),
            "buffer 0 has 3 bytes, not the 288 that are declared");
  EXPECT_EQ(complaint([](json& d) { d["buffers"][0].erase("uri"); }), "buffer 0 has no data");
}

TEST_F(Gltf, EveryCutAndAlterationIsSurvived) {
  saved(random_model(2, 0));
  const std::string whole = read_file(folder / "whole.glb");
  const auto load = [](const std::filesystem::path& path) { load_model(path); };
  expect_every_cut_fails(folder, "a.glb", whole, load);
  expect_flips_are_survived(folder, "a.glb", whole, 500, load);
}

TEST_F(Gltf, AModelWithoutGaussiansIsRefused) {
  EXPECT_EQ(error_of([&] { save_model(make_gaussians(0, 0), folder / "a.glb"); }),
            (folder / "a.glb").string() + ": glTF cannot hold a model without Gaussians");
  EXPECT_NE(error_of([&] { save_model(random_model(1, 0), folder / "a.gltf"); }), "");
  EXPECT_EQ(folder.file_count(), 0u);
}

TEST(Base64, EncodesAsTheStandardSays) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xfb\xff\xfe"), "+//+");
}

TEST(Base64, DecodesAnyNumberOfBytes) {
  std::string bytes;
  for (int i = 0; i < 70; ++i) {
    std::string text = base64(bytes);
    for (int padding = 0; padding < 2; ++padding) {
      const auto decoded = decode_base64(text);
      ASSERT_TRUE(decoded.has_value()) << text;
      EXPECT_TRUE(std::equal(decoded->begin(), decoded->end(), bytes.begin(), bytes.end(),
                             [](std::byte a, char b) { return a == static_cast<std::byte>(b); }));
      while (text.ends_with('=')) text.pop_back();
    }
    bytes += static_cast<char>(i * 37);
  }
  for (const char* bad : {"A", "AAAAA", "A=AA", "AAA ", "AA-_", "====", "AA==="})
    EXPECT_FALSE(decode_base64(bad)) << bad;
}

}  // namespace
}  // namespace stipple
