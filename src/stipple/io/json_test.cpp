// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/json.h"

#include <gtest/gtest.h>

#include <string>

namespace stipple {
namespace {

std::string repeated(const std::string& text, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += text;
  return result;
}

std::string nested(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

TEST(Json, ParsesWhatIsValid) {
  EXPECT_EQ(parse_json(R"({"a": [1, 2.5, "]]\"[["]})")["a"][2], "]]\"[[");
  EXPECT_TRUE(parse_json("").is_discarded());
  EXPECT_TRUE(parse_json("[1, 2").is_discarded());
  EXPECT_TRUE(parse_json("[1] // one").is_discarded());
  EXPECT_EQ(parse_json("[1] // one", JsonComments::kIgnored)[0], 1);
  EXPECT_EQ(parse_json<nlohmann::ordered_json>(R"({"b": 1, "a": 2})").begin().key(), "b");
}

TEST(Json, LimitsTheDepth) {
  EXPECT_FALSE(parse_json(nested(64)).is_discarded());
  EXPECT_TRUE(parse_json(nested(65)).is_discarded());
  EXPECT_EQ(json_excess(nested(65)), "is nested more than 64 levels deep; export it again");
  EXPECT_FALSE(json_excess(repeated("{\"a\":", 65)).empty());
  // Brackets in strings, and those that are closed again, do not count.
  EXPECT_FALSE(parse_json("[\"" + std::string(1000, '[') + "\"]").is_discarded());
  EXPECT_FALSE(parse_json("[[]" + repeated(",[]", 1000) + "]").is_discarded());
}

// The limit holds for whatever the parser would get to see.
TEST(Json, StringsAndCommentsHideNothing) {
  for (const char* start :
       {"[\"\\\"\",", "[\"\\\\\",", "//\"\n", "/*\"*/", "/*/\"*/", "//\"\r", "[1/2,\"\","})
    EXPECT_FALSE(json_excess(start + nested(65)).empty()) << start;
  EXPECT_FALSE(json_excess(std::string("//\0", 3) + nested(65)).empty());
  for (const char* start : {"[\"", "//", "/*"}) EXPECT_TRUE(json_excess(start + nested(65)).empty()) << start;
}

TEST(Json, LimitsTheNumberOfValues) {
  EXPECT_TRUE(json_excess("[" + repeated("0,", 4'999'999) + "0]").empty());
  const std::string excess = "has more than 5 million values; export fewer photos";
  EXPECT_EQ(json_excess("[" + repeated("0,", 5'000'000) + "0]"), excess);
  EXPECT_EQ(json_excess("[" + repeated("{},", 2'500'000) + "0]"), excess);
}

}  // namespace
}  // namespace stipple
