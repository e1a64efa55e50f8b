// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/compressed_ply.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <string>

#include "stipple/core/parallel.h"
#include "stipple/edit/select.h"
#include "stipple/model/formats/chunk_order.h"
#include "stipple/model/formats/compressed_ply_code.h"
#include "tests/helpers/sample_models.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

using namespace compressed_ply;

// Also if the content does not look like one.
void load_as_compressed(const std::filesystem::path& path) {
  ModelFacts facts;
  load_compressed_ply(path, facts);
}

Gaussians round_trip(const Gaussians& model, const TestFolder& folder, ModelFacts* facts = nullptr) {
  save_model(model, folder / "a.compressed.ply");
  return load_model(folder / "a.compressed.ply", facts);
}

TEST(CompressedPly, RoundTripStaysWithinAStep) {
  TestFolder folder;
  for (int degree = 0; degree <= 3; ++degree) {
    Gaussians model = trained_looking_model(600, degree);
    ModelFacts facts;
    const Gaussians back = round_trip(model, folder, &facts);
    EXPECT_EQ(facts.format, "compressed .ply");
    ASSERT_EQ(back.size(), model.size());
    ASSERT_EQ(back.sh_degree, degree);
    keep_rows(chunk_order(model.mean, kChunkSize), model);
    std::vector<std::uint32_t> members;
    for (std::size_t i = 0; i < model.size(); ++i) {
      if (i % kChunkSize == 0) {
        members.resize(std::min(kChunkSize, model.size() - i));
        std::iota(members.begin(), members.end(), static_cast<std::uint32_t>(i));
      }
      const Chunk chunk = bounds_of(model, members);
      for (int k = 0; k < 3; ++k) {
        const float fields = k == 1 ? 1023 : 2047;
        const auto step = [&](const Bounds& b) { return (b.high[k] - b.low[k]) / fields; };
        EXPECT_NEAR(back.mean[i][k], model.mean[i][k], 0.501f * step(chunk.position));
        EXPECT_NEAR(back.log_scale[i][k], model.log_scale[i][k], 0.501f * step(chunk.log_scale));
        const std::size_t at = i * static_cast<std::size_t>(model.sh_count());
        EXPECT_NEAR(color_from_base(back.sh[at][k]), color_from_base(model.sh[at][k]),
                    0.501f * step(chunk.color) * fields / 255);
        for (int j = 1; j < model.sh_count(); ++j)
          EXPECT_NEAR(back.sh[at + j][k], model.sh[at + j][k], 0.501f * 8 / 256);
      }
      EXPECT_LE(opacity_difference(back.logit_opacity[i], model.logit_opacity[i]), 0.501f / 255);
      EXPECT_LE(rotation_difference(back.rotation[i], model.rotation[i]), 2.45f * 1.4142f / 1023);
    }
  }
}

TEST(CompressedPly, SavingWhatWasLoadedGivesTheSameBytes) {
  TestFolder folder;
  for (const Gaussians& model : {trained_looking_model(40'000, 1), hostile_model(3000, 3)}) {
    const Gaussians back = round_trip(model, folder);
    save_model(back, folder / "b.compressed.ply");
    EXPECT_TRUE(read_file(folder / "a.compressed.ply") == read_file(folder / "b.compressed.ply"));
    with_threads(3, [&] { save_model(model, folder / "c.compressed.ply"); });
    EXPECT_TRUE(read_file(folder / "a.compressed.ply") == read_file(folder / "c.compressed.ply"));
  }
}

TEST(CompressedPly, NumbersThatAreNotFiniteHideTheirGaussiansOnly) {
  TestFolder folder;
  Gaussians model = trained_looking_model(100, 1);  // one chunk
  model.mean[7].y = std::numeric_limits<float>::quiet_NaN();
  model.mean[8].x = std::numeric_limits<float>::infinity();
  const Gaussians back = round_trip(model, folder);
  for (std::size_t i = 0; i < 100; ++i) {
    if (i == 7 || i == 8) {
      EXPECT_EQ(opacity_byte(back.logit_opacity[i]), 0);
    } else {
      EXPECT_LT(opacity_difference(back.logit_opacity[i], model.logit_opacity[i]), 0.501f / 255);
      EXPECT_NEAR(back.mean[i].x, model.mean[i].x, 0.1f);
    }
  }
  const Gaussians hostile = round_trip(hostile_model(3000, 3), folder);
  EXPECT_TRUE(all_finite(hostile));
}

TEST(CompressedPly, NotesAntialiasing) {
  TestFolder folder;
  const Gaussians model = trained_looking_model(3, 0);
  ModelFacts facts;
  for (const char* name : {"a.compressed.ply", "a.ply"}) {
    save_model(model, folder / name, {.antialiased = true});
    load_model(folder / name, &facts);
    EXPECT_EQ(facts.antialiased, std::optional(true)) << name;
    save_model(model, folder / name);
    load_model(folder / name, &facts);
    EXPECT_EQ(facts.antialiased, std::nullopt) << name;
  }
}

// One Gaussian in the middle of its chunk's bounds, in all fields.
std::string small_file(bool colors, int rest_count, const std::string& before_vertex = "") {
  std::string text = "ply\nformat binary_little_endian 1.0\ncomment antialiased 0\nelement chunk 1\n";
  const std::size_t names = colors ? kChunkNames.size() : kOldChunkNames;
  for (std::size_t i = 0; i < names; ++i) text += "property float " + std::string(kChunkNames[i]) + "\n";
  text += before_vertex + "element vertex 1\n";
  for (const std::string_view name : kPackedNames) text += "property uint " + std::string(name) + "\n";
  if (rest_count > 0) text += "element sh 1\n";
  for (int i = 0; i < rest_count; ++i) text += "property uchar f_rest_" + std::to_string(i) + "\n";
  text += "end_header\n";
  const auto append = [&](const auto& data) {
    text.append(reinterpret_cast<const char*>(&data), sizeof(data));
  };
  for (const int bound : {-1, -2, -3, 1, 2, 3, -6, -5, -4, -2, -1, 0}) append(static_cast<float>(bound));
  if (colors)
    for (const float bound : {0.0f, 0.25f, -1.0f, 1.0f, 0.75f, 2.0f}) append(bound);
  append(2047u << 21 | 0u << 11 | 2047u);
  append(1u << 30 | 512u << 20 | 1023u << 10 | 0u);  // x is the largest
  append(0u << 21 | 1023u << 11 | 0u);
  append(255u << 24 | 0u << 16 | 51u << 8 | 128u);
  for (int i = 0; i < rest_count; ++i) append(static_cast<unsigned char>(i == 0 ? 0 : 128 + i));
  return text;
}

TEST(CompressedPly, ReadsOldAndNewFiles) {
  TestFolder folder;
  for (const bool colors : {false, true}) {
    ModelFacts facts;
    const Gaussians g = load_model(folder.write("scene.ply", small_file(colors, 24)), &facts);
    EXPECT_EQ(facts.format, "compressed .ply");
    EXPECT_EQ(facts.antialiased, std::optional(false));
    ASSERT_EQ(g.size(), 1u);
    EXPECT_EQ(g.mean[0], Vec3f(1, -2, 3));
    EXPECT_EQ(g.log_scale[0], Vec3f(-6, -1, -4));
    EXPECT_NEAR(g.rotation[0].x, 0, 1e-3f);
    EXPECT_NEAR(g.rotation[0].y, 0, 1e-3f);
    EXPECT_NEAR(g.rotation[0].z, std::sqrt(0.5f), 1e-6f);
    EXPECT_NEAR(g.rotation[0].w, -std::sqrt(0.5f), 1e-6f);
    EXPECT_NEAR(color_from_base(g.sh[0].x), 1, 1e-6f);
    EXPECT_NEAR(color_from_base(g.sh[0].y), colors ? 0.25f : 0, 1e-6f);
    EXPECT_NEAR(color_from_base(g.sh[0].z), colors ? -1 + 3 * 0.2f : 0.2f, 1e-6f);
    EXPECT_EQ(opacity_byte(g.logit_opacity[0]), 128);
    ASSERT_EQ(g.sh_degree, 2);
    EXPECT_EQ(g.sh[1].x, -4);
    EXPECT_EQ(g.sh[2].x, 1.5f / 32);        // f_rest_1: red, k = 2
    EXPECT_EQ(g.sh[1].y, (8 + 0.5f) / 32);  // f_rest_8: green, k = 1
    EXPECT_EQ(g.sh[8].z, (23 + 0.5f) / 32);
  }
}

TEST(CompressedPly, SkipsOtherElements) {
  TestFolder folder;
  const std::string with = small_file(true, 0, "element camera 0\nproperty list uchar int x\n");
  EXPECT_EQ(load_model(folder.write("a.ply", with)).mean[0], Vec3f(1, -2, 3));
}

TEST(CompressedPly, IsRecognisedBehindLongComments) {
  TestFolder folder;
  std::string text = small_file(true, 0);
  text.insert(text.find("element"), "comment " + std::string(30'000, 'x') + "\n");
  ModelFacts facts;
  load_model(folder.write("a.ply", text), &facts);
  EXPECT_EQ(facts.format, "compressed .ply");
}

TEST(CompressedPly, EmptyModel) {
  TestFolder folder;
  EXPECT_EQ(round_trip(make_gaussians(0, 3), folder).size(), 0u);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return text.replace(at, from.size(), to);
}

TEST(CompressedPly, MalformedFilesAreErrors) {
  TestFolder folder;
  const std::string whole = small_file(true, 9);
  const auto complaint = [&](const std::string& content) {
    const std::filesystem::path path = folder.write("a.compressed.ply", content);
    const std::string message = error_of([&] { load_as_compressed(path); });
    EXPECT_TRUE(message.starts_with(path.string() + ": ")) << message;
    return message.substr(std::min(message.size(), path.string().size() + 2));
  };
  EXPECT_EQ(complaint(replaced(whole, "vertex 1", "vertex 257")),
            "the header declares 257 rows of 'vertex', which do not fit into the file");
  EXPECT_EQ(complaint(replaced(whole, "vertex 1", "vertex 18446744073709551615")),
            "the header declares 18446744073709551615 rows of 'vertex', which do not fit into the file");
  EXPECT_EQ(complaint(replaced(whole, "vertex 1", "vertex 0")),
            "0 Gaussians need 0 chunks of 256, but the file has 1");
  EXPECT_EQ(complaint(replaced(whole, "element sh 1", "element sh 2")),
            "the elements 'vertex' and 'sh' have 1 and 2 rows, which must be as many");
  EXPECT_EQ(complaint(replaced(whole, "little", "big")),
            "a compressed .ply must have the format binary_little_endian");
  EXPECT_EQ(complaint(replaced(whole, "float min_z", "double min_z")),
            "property 'min_z' of element 'chunk' has the wrong type");
  EXPECT_EQ(complaint(replaced(whole, "min_b", "min_g")), "property 'min_g' is declared twice");
  EXPECT_EQ(complaint(replaced(whole, "packed_color", "color")),
            "property 'packed_color' of element 'vertex' is missing");
  EXPECT_EQ(complaint(replaced(whole, "uint packed_color", "list uint uint packed_color")),
            "element 'vertex' has a list, which a compressed .ply must not have");
  EXPECT_EQ(complaint(replaced(whole, "uchar f_rest_8", "uchar f_rest_9")),
            "property 'f_rest_8' of element 'sh' is missing");
  EXPECT_NE(complaint(replaced(whole, "property uchar f_rest_8\n", "")).find("must be 0, 9, 24 or 45"),
            std::string::npos);
  EXPECT_EQ(complaint(replaced(whole, "element chunk", "element lump")),
            "a compressed .ply has the elements 'chunk', 'vertex' and, if need be, 'sh', in this order");
  EXPECT_EQ(complaint(whole + std::string(9, 'x')), "the file has more data than its header declares");
  expect_every_cut_fails(folder, "a.compressed.ply", whole, load_as_compressed);
  expect_flips_are_survived(folder, "a.compressed.ply", whole, 300, load_as_compressed);
}

// The order of a space-filling curve mixes points of one cell of its grid, of which the outermost reach to
// the most distant point.
TEST(ChunkOrder, DistantPointsDoNotSpoilTheChunksOfOthers) {
  std::vector<Vec3f> points = trained_looking_model(20'000, 0).mean;
  for (std::size_t i = 0; i < points.size(); i += 400) points[i] = points[i] * 1000.0f;
  std::vector<std::uint32_t> order = chunk_order(points, 256);
  std::size_t large = 0;
  for (std::size_t begin = 0; begin < order.size(); begin += 256) {
    Vec3f low = points[order[begin]], high = low;
    for (std::size_t i = begin; i < std::min(order.size(), begin + 256); ++i)
      for (int axis = 0; axis < 3; ++axis) {
        low[axis] = std::min(low[axis], points[order[i]][axis]);
        high[axis] = std::max(high[axis], points[order[i]][axis]);
      }
    large += (high.x - low.x) + (high.y - low.y) + (high.z - low.z) > 200;
  }
  EXPECT_LE(large, 14u);  // of 79
  std::sort(order.begin(), order.end());
  for (std::uint32_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);
}

TEST(ChunkOrder, TakesAnyPoints) {
  EXPECT_TRUE(chunk_order({}, 256).empty());
  const std::vector<Vec3f> same(1000, Vec3f(1, 2, 3));
  const std::vector<std::uint32_t> order = chunk_order(same, 256);
  for (std::uint32_t i = 0; i < order.size(); ++i) ASSERT_EQ(order[i], i);
  std::vector<std::uint32_t> any = chunk_order(hostile_model(1000, 0).mean, 256);
  std::sort(any.begin(), any.end());
  for (std::uint32_t i = 0; i < any.size(); ++i) ASSERT_EQ(any[i], i);
}

}  // namespace
}  // namespace stipple
