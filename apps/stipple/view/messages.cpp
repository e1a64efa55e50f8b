// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/messages.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <memory>

#include "stipple/core/error.h"
#include "stipple/io/byte_order.h"
#include "stipple/io/camera_json.h"
#include "stipple/path/camera_path.h"

namespace stipple {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int kMaxSidePx = 4096;
constexpr float kLeastFocalPx = 1e-3f;  // so that it is not rounded to 0 for smaller pictures
constexpr double kMaxSerial = 9e15;     // a double holds these exactly
constexpr float kLeastModifier = 1e-3f, kMostModifier = 1e3f;

constexpr std::array kShownNames = {"color", "depth", "alpha", "gaussians"};  // in the order of Shown

ordered_json json_of(Vec3f v) { return {v.x, v.y, v.z}; }

ordered_json json_of(const Camera& camera) {
  const Mat3f& r = camera.camera_from_world.rotation;
  const Vec3f& t = camera.camera_from_world.translation;
  auto rows = ordered_json::array();
  for (int row = 0; row < 3; ++row) rows.push_back({r[0][row], r[1][row], r[2][row], t[row]});
  return {{"width", camera.width_px}, {"height", camera.height_px}, {"fx", camera.focal_px.x},
          {"fy", camera.focal_px.y},  {"cx", camera.center_px.x},   {"cy", camera.center_px.y},
          {"camera_from_world", rows}};
}

ordered_json or_null(const std::string& text) { return text.empty() ? ordered_json() : ordered_json(text); }
ordered_json or_null(std::optional<int> step) { return step ? ordered_json(*step) : ordered_json(); }

ordered_json json_of(const ModelInfo& model) {
  return {{"name", model.name},
          {"count", model.count},
          {"sh_degree", model.sh_degree},
          {"bytes", model.format.empty() ? ordered_json() : ordered_json(model.bytes)},
          {"url", or_null(model.url)},
          {"format", or_null(model.format)},
          {"lod", or_null(model.lod_url)}};
}

ordered_json json_of(const ViewInfo& view) {
  return {{"name", view.name},
          {"is_test", view.is_test},
          {"camera", json_of(view.camera)},
          {"photo", view.photo_url}};
}

template <class T>
ordered_json list_of(const std::vector<T>& values) {
  auto list = ordered_json::array();
  for (const T& value : values) list.push_back(json_of(value));
  return list;
}

std::int64_t serial_in(const JsonFields& fields) {
  return static_cast<std::int64_t>(fields.number("serial", 0, kMaxSerial));
}

Shown shown_in(const JsonFields& fields) {
  const auto found = std::find(kShownNames.begin(), kShownNames.end(), fields.value("shown"));
  if (found == kShownNames.end()) fields.fail("shown", "is not known");
  return static_cast<Shown>(found - kShownNames.begin());
}

std::vector<std::size_t> models_in(const JsonFields& fields, std::size_t model_count) {
  std::vector<std::size_t> models;
  for (const json& value : fields.list("models")) {
    const std::size_t model = value.is_number_unsigned() ? value.get<std::size_t>() : model_count;
    if (model >= model_count || models.size() == model_count)
      fields.fail("models", "must be numbers of models");
    models.push_back(model);
  }
  return models;
}

Vec3f color_in(const JsonFields& fields, const char* field) {
  const json& list = fields.list(field);
  Vec3f color;
  for (int c = 0; c < 3; ++c) {
    color[c] = static_cast<int>(list.size()) == 3 ? to_float(list[static_cast<std::size_t>(c)]) : NAN;
    if (!(0 <= color[c] && color[c] <= 1)) fields.fail(field, "must be three numbers from 0 to 1");
  }
  return color;
}

Camera camera_in(const JsonFields& fields) {
  const Camera camera = camera_from(fields.object("camera"));
  if (std::min(camera.focal_px.x, camera.focal_px.y) < kLeastFocalPx)
    fields.fail("camera", "must have a focal length of at least 0.001 pixels");
  const int longest = std::max(camera.width_px, camera.height_px);
  if (longest <= kMaxSidePx) return camera;
  const auto shrunk = [&](int side_px) { return std::max(1, side_px * kMaxSidePx / longest); };
  return resized(camera, shrunk(camera.width_px), shrunk(camera.height_px));
}

CameraMessage camera_message(const JsonFields& fields, std::size_t model_count) {
  CameraMessage message;
  message.serial = serial_in(fields);
  message.camera = camera_in(fields);
  message.is_moving = fields.flag("is_moving");
  message.shown = shown_in(fields);
  message.models = models_in(fields, model_count);
  message.background = color_in(fields, "background");
  message.scale_modifier = static_cast<float>(fields.number("scale_modifier", kLeastModifier, kMostModifier));
  message.sh_degree = fields.whole_number("sh_degree", 0, 3);
  return message;
}

}  // namespace

std::string hello_text(const Hello& hello) {
  const ViewBounds& b = hello.bounds;
  ordered_json out;
  out["type"] = "hello";
  out["version"] = STIPPLE_VERSION;
  out["mode"] = hello.mode;
  out["title"] = hello.title;
  out["streams"] = hello.backend.has_value();
  out["backend"] = hello.backend ? ordered_json(*hello.backend) : ordered_json();
  out["models"] = list_of(hello.models);
  out["bounds"] = {{"min", json_of(b.low)},
                   {"max", json_of(b.high)},
                   {"center", json_of(b.center)},
                   {"radius", b.radius},
                   {"up", json_of(b.up)}};
  out["start_camera"] = json_of(hello.start_camera);
  out["views"] = list_of(hello.views);
  out["render"] = {{"background", json_of(hello.render.background)},
                   {"antialiased", hello.render.antialiased}};
  out["can_save"] = !hello.folder.empty();
  out["folder"] = or_null(hello.folder);
  return with_utf8(out).dump();
}

std::string notice_text(NoticeKind kind, const std::string& text) {
  const char* name = kind == NoticeKind::kInfo ? "info" : kind == NoticeKind::kWarning ? "warning" : "error";
  return with_utf8(ordered_json{{"type", "notice"}, {"kind", name}, {"text", text}}).dump();
}

std::string score_text(const ScoreInfo& score) {
  return ordered_json{{"type", "score"},      {"view", score.view},
                      {"model", score.model}, {"step", or_null(score.step)},
                      {"psnr", score.psnr},   {"ssim", score.ssim}}
      .dump();
}

SharedBytes picture_message(const PictureHeader& header, std::span<const std::byte> jpeg) {
  const std::string text = ordered_json{
      {"serial", header.serial},
      {"model", header.model},
      {"shown", kShownNames[static_cast<std::size_t>(header.shown)]},
      {"width", header.width_px},
      {"height", header.height_px},
      {"is_sharp", header.is_sharp},
      {"step",
       or_null(header.step)}}.dump();
  std::vector<std::byte> bytes(sizeof(std::uint32_t));
  bytes.reserve(bytes.size() + text.size() + jpeg.size());
  store_little(static_cast<std::uint32_t>(text.size()), bytes.data());
  const auto header_bytes = std::as_bytes(std::span(text));
  bytes.insert(bytes.end(), header_bytes.begin(), header_bytes.end());
  bytes.insert(bytes.end(), jpeg.begin(), jpeg.end());
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

PageMessage parse_page_message(std::string_view text, std::size_t model_count) {
  const json object = parse_json(text);
  const JsonFields fields(object, "the message of the page");
  const json& type = fields.value("type");
  if (type == "camera") return camera_message(fields, model_count);
  if (type == "rest") return RestMessage{};
  if (type == "shown") return ShownMessage{serial_in(fields)};
  if (type == "score") return ScoreMessage{static_cast<std::size_t>(fields.whole_number("view", 0, 1 << 30))};
  if (type == "command" && fields.value("name").is_string())
    return CommandMessage{fields.value("name").get<std::string>()};
  return UnknownMessage{};
}

}  // namespace stipple
