// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/json_file.h"

#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

using nlohmann::json;

struct Read {
  json rest;
  std::vector<std::string> taken;  // the values, with the index in front
};

Read read(const std::string& text, std::size_t depth = 1) {
  TestFolder folder;
  Read result;
  JsonList list{"list", depth, "skipped", {}, [&] { result.taken.clear(); }};
  list.take = [&](json&& value, std::size_t index) {
    result.taken.push_back(std::to_string(index) + " " + value.dump());
  };
  result.rest = load_json(folder.write("a.json", text), "a test", list);
  return result;
}

TEST(JsonFile, HandsOverTheValuesOfAList) {
  const Read a =
      read(R"({"a": [1, {"list": [5]}], "list": [1, "x", [2, [3]], {"k": {"l": null}}, []], "z": true})");
  EXPECT_EQ(a.taken,
            (std::vector<std::string>{"0 1", "0 \"x\"", "0 [2,[3]]", R"(0 {"k":{"l":null}})", "0 []"}));
  EXPECT_EQ(a.rest, json::parse(R"({"a": [1, {"list": [5]}], "list": [], "z": true})"));
}

TEST(JsonFile, HandsOverTheValuesOfAnObjectInEachElement) {
  const Read a = read(R"([{"list": {"p": 1}}, {"b": 2}, {"list": {"q": {"r": 3}}, "list": {"s": 4}}])", 2);
  EXPECT_EQ(a.taken, (std::vector<std::string>{"0 1", R"(2 {"r":3})", "2 4"}));
  EXPECT_EQ(a.rest, json::parse(R"([{"list": {}}, {"b": 2}, {"list": {}}])"));
}

TEST(JsonFile, SkipsValues) {
  const Read a = read(
      R"({"skipped": {"list": [1]}, "list": [{"skipped": [[1], {"a": 2}], "b": 3}], "c": {"skipped": 4}})");
  EXPECT_EQ(a.taken, (std::vector<std::string>{R"(0 {"b":3})"}));
  EXPECT_EQ(a.rest, json::parse(R"({"list": [], "c": {}})"));
}

TEST(JsonFile, ReadsNan) {
  const Read a = read("{\"list\": [1, NaN, -Infinity], \"x\": -nan(ind), \"nan\": \"NaN \\\" inf\"} // end");
  EXPECT_EQ(a.taken, (std::vector<std::string>{"0 1", "0 null", "0 null"}));
  EXPECT_EQ(a.rest, json::parse(R"({"list": [], "x": null, "nan": "NaN \" inf"})"));
}

TEST(JsonFile, KeepsScalars) { EXPECT_EQ(read("7").rest, json(7)); }

TEST(JsonFile, LimitsWhatIsKeptAndNotTheList) {
  const auto many = [](const char* name) {
    std::string text = std::string("{\"") + name + "\": [[]";
    for (int i = 0; i < 5'000'000; ++i) text += ",1";
    return text + "]}";
  };
  EXPECT_EQ(read(many("skipped")).rest, json::object());
  EXPECT_NE(error_of([&] { read(many("other")); }).find("has more than 5 million values"), std::string::npos);
  EXPECT_NE(error_of([&] { read(std::string(65, '[') + std::string(65, ']')); }).find("more than 64 levels"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              read("{\"list\": [" + std::string(70, '[') + std::string(70, ']') + "]}");
            }).find("more than 64 levels"),
            std::string::npos);
  EXPECT_EQ(read("{\"skipped\": " + std::string(1000, '[') + std::string(1000, ']') + "}").rest,
            json::object());
  TestFolder folder;  // a list that is longer than the limit
  std::size_t count = 0;
  JsonList list{"long", 1, "", [&](json&&, std::size_t) { ++count; }, [&] { count = 0; }};
  EXPECT_EQ(load_json(folder.write("a.json", many("long")), "a test", list), json::parse(R"({"long": []})"));
  EXPECT_EQ(count, 5'000'001u);
}

TEST(JsonFile, FailsOnDamage) {
  for (const char* text : {"", "{", "{\"list\": [1, 2", "{\"list\": [1]} x", "[1,]", "{\"a\" 1}"})
    EXPECT_NE(error_of([&] { read(text); }).find("is not valid JSON"), std::string::npos) << text;
}

}  // namespace
}  // namespace stipple
