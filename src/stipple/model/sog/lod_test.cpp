// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/sog/lod.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "stipple/model/sog/sog.h"
#include "tests/helpers/sample_models.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

using nlohmann::json;

SaveModelOptions small_chunks(int levels) {
  SaveModelOptions options;
  options.lod_levels = levels;
  options.lod_chunk = 200;
  return options;
}

class SavedLod : public ::testing::Test {
 protected:
  SavedLod() : model_(trained_looking_model(600, 1)), path_(folder_ / "a.lod") {
    save_model(model_, path_, small_chunks(3));
    meta_ = json::parse(read_file(path_ / "lod-meta.json"));
  }

  std::string error_with(const json& meta) {
    folder_.write("a.lod/lod-meta.json", meta.dump());
    return error_of([&] { load_model(path_); });
  }

  TestFolder folder_;
  Gaussians model_;
  std::filesystem::path path_;
  json meta_;
};

TEST_F(SavedLod, TheFinestLevelIsTheModel) {
  for (const std::filesystem::path& path : {path_, path_ / "", path_ / "lod-meta.json"}) {
    ModelFacts facts;
    const Gaussians back = load_model(path, &facts);
    EXPECT_EQ(facts.format, "streamed SOG");
    ASSERT_EQ(back.size(), model_.size());
    EXPECT_EQ(back.sh_degree, 1);
    const std::vector<std::uint32_t> nearest = nearest_gaussians(model_, back);
    EXPECT_EQ(std::set<std::uint32_t>(nearest.begin(), nearest.end()).size(), model_.size());
    for (std::size_t i = 0; i < model_.size(); ++i) {
      EXPECT_LE(opacity_difference(back.logit_opacity[nearest[i]], model_.logit_opacity[i]), 0.501f / 255);
      EXPECT_LE(rotation_difference(back.rotation[nearest[i]], model_.rotation[i]), std::sqrt(3.0f) / 128);
    }
  }
}

// Adds up the pieces below a node, and checks that the Gaussians of each are inside its box.
void visit(const json& node, const std::filesystem::path& folder, const json& meta,
           std::vector<std::size_t>& counts, std::vector<std::size_t>& rows_of_file) {
  if (node.contains("children")) {
    ASSERT_EQ(node["children"].size(), 2);
    for (const json& child : node["children"]) visit(child, folder, meta, counts, rows_of_file);
    return;
  }
  for (const auto& [level, piece] : node["lods"].items()) {
    const auto file = piece["file"].get<std::size_t>(), count = piece["count"].get<std::size_t>();
    EXPECT_EQ(piece["offset"].get<std::size_t>(),
              rows_of_file[file]);  // without gaps, in the order of the tree
    rows_of_file[file] += count;
    counts[std::stoul(level)] += count;
    ModelFacts ignored;
    const Gaussians g = load_sog(folder / meta["filenames"][file].get<std::string>(), ignored);
    for (std::size_t i = rows_of_file[file] - count; i < rows_of_file[file]; ++i)
      for (int k = 0; k < 3; ++k) {
        const auto axis = static_cast<std::size_t>(k);
        EXPECT_GE(g.mean[i][k], node["bound"]["min"][axis].get<float>());
        EXPECT_LE(g.mean[i][k], node["bound"]["max"][axis].get<float>());
      }
  }
}

TEST_F(SavedLod, TheTreeAccountsForEveryGaussianOfEveryLevel) {
  EXPECT_EQ(meta_["version"], 1);
  EXPECT_EQ(meta_["lodLevels"], 3);
  EXPECT_EQ(meta_["counts"], json({600, 300, 150}));
  EXPECT_EQ(meta_["count"], 1050);
  std::vector<std::size_t> counts(3), rows_of_file(meta_["filenames"].size());
  visit(meta_["tree"], path_, meta_, counts, rows_of_file);
  EXPECT_EQ(counts, (std::vector<std::size_t>{600, 300, 150}));
  for (std::size_t file = 0; file < rows_of_file.size(); ++file) {
    EXPECT_LE(rows_of_file[file], 200);
    ModelFacts ignored;
    EXPECT_EQ(load_sog(path_ / meta_["filenames"][file].get<std::string>(), ignored).size(),
              rows_of_file[file]);
  }
}

TEST_F(SavedLod, LeavesHaveTheirBoxes) {
  json* node = &meta_["tree"];
  while (node->contains("children")) node = &(*node)["children"][0];
  const auto first_box = [&] { return parse_lod_meta(meta_.dump(), "it").leaves.front().box; };
  ASSERT_TRUE(first_box());
  for (int k = 0; k < 3; ++k) {
    const auto axis = static_cast<std::size_t>(k);
    EXPECT_EQ(first_box()->low[k], (*node)["bound"]["min"][axis].get<float>());
    EXPECT_EQ(first_box()->high[k], (*node)["bound"]["max"][axis].get<float>());
  }
  (*node)["bound"] = nullptr;
  EXPECT_FALSE(first_box());
  node->erase("bound");
  EXPECT_FALSE(first_box());
}

TEST_F(SavedLod, IsKnownToBeStreamed) {
  EXPECT_TRUE(is_streamed(path_ / "lod-meta.json"));
  EXPECT_FALSE(is_streamed(path_ / "0_0" / "meta.json"));
  std::filesystem::remove(path_ / "lod-meta.json");
  EXPECT_EQ(error_of([&] { is_streamed(path_ / "lod-meta.json"); }),
            "cannot open " + (path_ / "lod-meta.json").string() + ": No such file or directory");
}

TEST_F(SavedLod, AntialiasedIsKept) {
  SaveModelOptions options = small_chunks(2);
  options.antialiased = true;
  save_model(model_, folder_ / "b" / "lod-meta.json", options);
  ModelFacts facts;
  EXPECT_EQ(load_model(folder_ / "b", &facts).size(), 600);
  EXPECT_EQ(facts.antialiased, true);
}

TEST_F(SavedLod, SmallModelsHaveTwoLevels) {
  save_model(model_, folder_ / "b.lod");
  EXPECT_EQ(json::parse(read_file(folder_ / "b.lod" / "lod-meta.json"))["counts"], json({600, 300}));
  save_model(trained_looking_model(1, 0), folder_ / "c.lod", small_chunks(5));
  EXPECT_EQ(json::parse(read_file(folder_ / "c.lod" / "lod-meta.json"))["counts"], json({1}));
}

TEST_F(SavedLod, ShapesWithoutMeaningGiveFiniteLevels) {
  model_.log_scale[0] = model_.log_scale[1] = {400, 400, 400};
  model_.log_scale[2] = model_.log_scale[3] = {-400, -400, -400};
  model_.mean[3] = model_.mean[2];
  model_.rotation[4] = {0, 0, 0, 0};
  model_.rotation[5] = {NAN, 0, 0, 0};
  save_model(model_, path_, small_chunks(3));
  EXPECT_EQ(load_model(path_).size(), 600);
  for (const json& file : json::parse(read_file(path_ / "lod-meta.json"))["filenames"]) {
    ModelFacts ignored;
    EXPECT_GT(load_sog(path_ / file.get<std::string>(), ignored).size(), 0);
  }
}

TEST_F(SavedLod, CanBeInTheCurrentFolder) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(path_ / "1_0");
  EXPECT_NO_THROW(save_model(model_, "lod-meta.json", small_chunks(3)));
  EXPECT_NO_THROW(EXPECT_EQ(load_model("lod-meta.json").size(), 600));
  std::filesystem::current_path(before);
}

TEST_F(SavedLod, AFileIsLoadedOnceWhateverItsName) {
  const std::size_t file = meta_["filenames"].size();
  meta_["filenames"].push_back("./0_0//meta.json");
  meta_["tree"] = json::parse(R"({"children": [{"lods": {"0": {"file": 0, "offset": 0, "count": 2}}}]})");
  meta_["filenames"][0] = "0_0/meta.json";
  meta_["tree"]["children"].push_back({{"lods", {{"0", {{"file", file}, {"offset", 1}, {"count", 2}}}}}});
  EXPECT_NE(error_with(meta_).find("do not fit the pieces"), std::string::npos);
}

TEST_F(SavedLod, TheSizeOfAnIncompleteModelIsAnError) {
  std::filesystem::remove_all(path_ / "2_0");
  EXPECT_EQ(load_model(path_).size(), 600);  // it needs the finest level only
  EXPECT_EQ(error_of([&] { model_bytes(path_); }),
            "cannot open " + (path_ / "2_0/meta.json").string() + ": No such file or directory");
}

TEST_F(SavedLod, AFailureLeavesNoFolderThatLooksComplete) {
  // A file where the folder of a chunk has to be.
  std::filesystem::remove_all(path_ / "1_0");
  folder_.write("a.lod/1_0", "");
  EXPECT_ANY_THROW(save_model(model_, path_, small_chunks(3)));
  EXPECT_FALSE(std::filesystem::exists(path_ / "lod-meta.json"));
}

TEST_F(SavedLod, WrongClaimsAreErrors) {
  const auto expect_error = [&](const char* patch, std::string_view part) {
    const std::string message = error_with(meta_.patch(json::array({json::parse(patch)})));
    EXPECT_NE(message.find(part), std::string::npos) << patch << ": " << message;
  };
  expect_error(R"({"op": "replace", "path": "/version", "value": 2})", "only version 1");
  expect_error(R"({"op": "remove", "path": "/tree"})", "tree is missing");
  expect_error(R"({"op": "replace", "path": "/tree", "value": {}})", "no Gaussians in the tree");
  expect_error(R"({"op": "replace", "path": "/tree", "value": 7})", "must be an object");
  expect_error(R"({"op": "replace", "path": "/tree", "value": {"children": {}}})", "must be an array");
  expect_error(R"({"op": "replace", "path": "/tree", "value": {"lods": {"x": {}}}})",
               "level must be a number");
  expect_error(
      R"({"op": "replace", "path": "/tree", "value": {"lods": {"0": {"file": 99, "offset": 0, "count": 1}}}})",
      "not in the list");
  expect_error(
      R"({"op": "replace", "path": "/tree", "value": {"lods": {"0": {"file": 0, "offset": -1, "count": 1}}}})",
      "offset must be a whole number");
  expect_error(
      R"({"op": "replace", "path": "/tree", "value": {"lods": {"0": {"file": 0, "offset": 1, "count": 18446744073709551615}}}})",
      "do not fit the pieces");
  expect_error(R"({"op": "replace", "path": "/tree", "value": {"children": [
      {"lods": {"0": {"file": 0, "offset": 0, "count": 2}}}, {"lods": {"0": {"file": 0, "offset": 1, "count": 2}}}]}})",
               "do not fit the pieces");
  const auto expect_wrong_bound = [&](const std::string& bound, std::string_view part) {
    expect_error(
        (R"({"op": "replace", "path": "/tree", "value": {"lods": {}, "bound": )" + bound + "}}").c_str(),
        part);
  };
  expect_wrong_bound("7", "a bound must be an object");
  expect_wrong_bound(R"({"max": [1, 1, 1]})", "min is missing");
  expect_wrong_bound(R"({"min": [0, 0], "max": [1, 1, 1]})", "the min of a bound must be 3 numbers");
  expect_wrong_bound(R"({"min": [0, 0, 0], "max": 1})", "the max of a bound must be 3 numbers");
  expect_wrong_bound(R"({"min": [0, 0, 0], "max": [1, null, 1]})", "must be finite numbers");
  expect_wrong_bound(R"({"min": [0, -1e300, 0], "max": [1, 1, 1]})", "must be finite numbers");
  expect_wrong_bound(R"({"min": [0, 2, 0], "max": [1, 1, 1]})", "must not be above its max");
  expect_error(R"({"op": "replace", "path": "/filenames/0", "value": "../a.lod/0_0/meta.json"})",
               "not the name of a file in this folder");
  expect_error(R"({"op": "replace", "path": "/filenames/0", "value": "/etc/passwd"})",
               "not the name of a file in this folder");
  expect_error(R"({"op": "replace", "path": "/filenames/0", "value": "gone/meta.json"})", "gone/meta.json");
  expect_error(R"({"op": "replace", "path": "/filenames/0", "value": "lod-meta.json"})",
               "only versions 1 and 2 of SOG");
  std::string deep = R"({"lodLevels":1,"filenames":[],"tree":)";
  for (int i = 0; i < 100; ++i) deep += R"({"children":[)";
  folder_.write("a.lod/lod-meta.json", deep);
  EXPECT_NE(error_of([&] { load_model(path_); }).find("64 levels"), std::string::npos);
}

TEST_F(SavedLod, TruncatedDescriptionsAreErrors) {
  const std::string whole = meta_.dump();
  for (std::size_t length = 0; length < whole.size(); length += 41)
    EXPECT_NE(error_of([&] { load_model(folder_.write("a.lod/lod-meta.json", whole.substr(0, length))); }),
              "");
}

TEST_F(SavedLod, EnvironmentsAreLoaded) {
  save_model(trained_looking_model(50, 0), path_ / "env" / "meta.json");
  meta_["environment"] = "env/meta.json";
  folder_.write("a.lod/lod-meta.json", meta_.dump());
  EXPECT_EQ(load_model(path_).size(), 650);
}

}  // namespace
}  // namespace stipple
