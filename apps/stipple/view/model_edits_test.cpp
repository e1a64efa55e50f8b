// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/model_edits.h"

#include <gtest/gtest.h>

#include <string>

#include "stipple/core/error.h"

namespace stipple {
namespace {

using Rows = std::vector<std::uint32_t>;

// At (0, 0, 0), (1, 0, 0), and so on.
Gaussians in_a_row(std::size_t count) {
  Gaussians gaussians;
  for (std::size_t i = 0; i < count; ++i) gaussians.mean.push_back({static_cast<float>(i), 0, 0});
  return gaussians;
}

TEST(ModelEdits, NameBitsAndBox) {
  const ModelEdits edits =
      parse_edits(R"({"name": "a.ply", "overwrite": true, "removed": "BQI=", "crop": [2, -1, -1, 8, 1, 1]})");
  EXPECT_EQ(edits.name, "a.ply");
  EXPECT_TRUE(edits.overwrites);
  EXPECT_EQ(rows_left(edits, in_a_row(10)), (Rows{3, 4, 5, 6, 7, 8}));
}

TEST(ModelEdits, WithoutEditsAllAreLeft) {
  for (const char* text : {R"({"name": ""})", R"({"name": "", "removed": null, "crop": null})"}) {
    const ModelEdits edits = parse_edits(text);
    EXPECT_FALSE(edits.overwrites);
    EXPECT_EQ(rows_left(edits, in_a_row(3)), (Rows{0, 1, 2}));
    EXPECT_EQ(rows_left(edits, in_a_row(0)), Rows{});
  }
}

TEST(ModelEdits, WhatNoPageWouldSendIsAnError) {
  for (const char* text :
       {"", "[]", "{}", R"({"name": 1})", R"({"name": "a.ply"} {})", R"({"name": "a.ply", "overwrite": 1})",
        R"({"name": "a.ply", "removed": 1})", R"({"name": "a.ply", "removed": "="})",
        R"({"name": "a.ply", "crop": []})", R"({"name": "a.ply", "crop": [null]})",
        R"({"name": "a.ply", "crop": [1e999]})", R"({"name": "a.ply", "crop": 1})"})
    EXPECT_THROW(parse_edits(text), Error) << text;
}

TEST(ModelEdits, TheBitsMustBeOfThisModelAndTheBoxABox) {
  const auto left = [](const std::string& more) {
    return rows_left(parse_edits(R"({"name": "a.ply", )" + more + "}"), in_a_row(9));
  };
  EXPECT_EQ(left(R"("removed": "/wA=")"), Rows{8});
  for (const char* wrong : {R"("removed": "/w==")", R"("removed": "/wAA")", R"("crop": [1, 2, 3])",
                            R"("crop": [1, 0, 0, 0, 1, 1])", R"("crop": [0, 0, 0, 1, 1, 1, 0, 0, 0, 0])"})
    EXPECT_THROW(left(wrong), Error) << wrong;
}

TEST(ModelEdits, OnlyAModelInTheFolderItselfMayBeWritten) {
  for (const char* name : {"a.ply", "a b.spz", "\xc3\xbc.ply", "a..ply", "a.lod"})
    EXPECT_NO_THROW(check_edited_name(name, true)) << name;
  for (const std::string& name :
       {std::string(), std::string("."), std::string(".."), std::string("../a.ply"), std::string("b/a.ply"),
        std::string("/a.ply"), std::string("b\\a.ply"), std::string("c:a.ply"), std::string(".a.ply"),
        std::string("a\n.ply"), std::string("a.ply\0.txt", 10), std::string("a.ply\0", 6),
        std::string("a.txt"), std::string("options.json"), std::string("checkpoint"),
        std::string("meta.json"), std::string(300, 'a') + ".ply"})
    EXPECT_THROW(check_edited_name(name, false), Error) << name;
  EXPECT_NO_THROW(check_edited_name("model.ply", false));
  EXPECT_THROW(check_edited_name("model.ply", true), Error);
}

}  // namespace
}  // namespace stipple
