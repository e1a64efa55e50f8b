// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/messages.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "stipple/core/error.h"

namespace stipple {
namespace {

using nlohmann::json;

json camera_json() {
  return {{"width", 640},
          {"height", 480},
          {"fx", 500},
          {"fy", 510},
          {"camera_from_world", {{1, 0, 0, 1}, {0, 1, 0, 2}, {0, 0, 1, 3}}}};
}

json camera_message() {
  return {{"type", "camera"},          {"serial", 17},          {"camera", camera_json()},
          {"is_moving", true},         {"shown", "depth"},      {"models", {0}},
          {"background", {0, 0.5, 1}}, {"scale_modifier", 0.5}, {"sh_degree", 2}};
}

CameraMessage parse_camera(const json& message, std::size_t model_count = 1) {
  return std::get<CameraMessage>(parse_page_message(message.dump(), model_count));
}

TEST(PageMessage, ACamera) {
  const CameraMessage message = parse_camera(camera_message());
  EXPECT_EQ(message.serial, 17);
  EXPECT_EQ(message.camera.width_px, 640);
  EXPECT_EQ(message.camera.focal_px, Vec2f(500, 510));
  EXPECT_EQ(message.camera.camera_from_world.translation, Vec3f(1, 2, 3));
  EXPECT_TRUE(message.is_moving);
  EXPECT_EQ(message.shown, Shown::kDepth);
  EXPECT_EQ(message.models, std::vector<std::size_t>{0});
  EXPECT_EQ(message.background, Vec3f(0, 0.5f, 1));
  EXPECT_EQ(message.scale_modifier, 0.5f);
  EXPECT_EQ(message.sh_degree, 2);
}

TEST(PageMessage, ALargePictureIsMadeSmaller) {
  json message = camera_message();
  message["camera"]["width"] = 65536;
  message["camera"]["height"] = 1;
  const CameraMessage wide = parse_camera(message);
  EXPECT_EQ(wide.camera.width_px, 4096);
  EXPECT_EQ(wide.camera.height_px, 1);
}

TEST(PageMessage, AFocalLengthThatWouldBecomeZeroInASmallerPictureIsAnError) {
  json message = camera_message();
  message["camera"]["width"] = 65536;
  message["camera"]["fy"] = 1e-45;
  EXPECT_THROW(parse_camera(message), Error);
}

TEST(PageMessage, OtherMessages) {
  const auto parse = [](const char* text) { return parse_page_message(text, 1); };
  EXPECT_TRUE(std::holds_alternative<RestMessage>(parse(R"({"type": "rest", "more": [1]})")));
  EXPECT_EQ(std::get<ShownMessage>(parse(R"({"type": "shown", "serial": 9e15})")).serial,
            9'000'000'000'000'000);
  EXPECT_EQ(std::get<CommandMessage>(parse(R"({"type": "command", "name": "pause"})")).name, "pause");
  EXPECT_EQ(std::get<ScoreMessage>(parse(R"({"type": "score", "view": 3})")).view, 3u);
  for (const char* unknown : {R"({"type": "else"})", R"({"type": 1})", R"({"type": "command", "name": 1})"})
    EXPECT_TRUE(std::holds_alternative<UnknownMessage>(parse(unknown))) << unknown;
}

TEST(PageMessage, WhatNoPageWouldSendIsAnError) {
  for (const char* text :
       {"", "camera", "[]", "null", "{}", "{", R"({"type": "camera"})", R"({"type": "shown"})",
        R"({"type": "shown", "serial": -1})", R"({"type": "shown", "serial": 1e300})",
        R"({"type": "shown", "serial": 1e999})", R"({"type": "score", "view": 0.5})",
        R"({"type": "command"})", "{\"type\": \"\xff\"}"})
    EXPECT_THROW(parse_page_message(text, 1), Error) << text;
  EXPECT_THROW(parse_page_message(std::string(60'000, '['), 1), Error);
  const json wrong = {{"serial", "1"},       {"camera", nullptr},       {"is_moving", 1},
                      {"shown", "normals"},  {"models", json::array()}, {"background", {0, 0}},
                      {"scale_modifier", 0}, {"sh_degree", 4}};
  for (const auto& [field, value] : wrong.items()) {
    json message = camera_message();
    message[field] = value;
    EXPECT_THROW(parse_camera(message), Error) << field;
  }
}

TEST(PageMessage, ModelsMustExist) {
  json message = camera_message();
  message["models"] = {1, 0};
  EXPECT_EQ(parse_camera(message, 2).models, (std::vector<std::size_t>{1, 0}));
  for (const json& models : {json{1}, json{-1}, json{0.5}, json{0, 0}, json{"0"}}) {
    message["models"] = models;
    EXPECT_THROW(parse_camera(message, 1), Error) << models;
  }
}

}  // namespace
}  // namespace stipple
