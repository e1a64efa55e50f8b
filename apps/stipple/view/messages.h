// SPDX-License-Identifier: Apache-2.0
#pragma once
// The messages between the server and a page (docs/viewer.md).
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "apps/stipple/server/server.h"
#include "stipple/backend/view.h"
#include "stipple/camera/camera.h"
#include "stipple/draw/shown_picture.h"

namespace stipple {

struct ModelInfo {
  std::string name;
  std::size_t count = 0;
  int sh_degree = 0;
  // Of the bytes that there are for it; empty in training, where there are none.
  std::uint64_t bytes = 0;
  std::string url;  // empty if they are in the page
  std::string format;
  std::string lod_url;  // empty unless it is streamed
};

struct ViewInfo {
  std::string name;
  bool is_test = false;
  Camera camera;
  std::string photo_url;
};

struct ViewBounds {  // of most Gaussians, in the world frame
  Vec3f low{-1, -1, -1}, high{1, 1, 1};
  Vec3f center{0, 0, 0};  // to orbit around
  float radius = 1;
  Vec3f up{0, -1, 0};
};

struct Hello {
  const char* mode = "model";  // or "training", "compare"
  std::string title;
  std::optional<std::string> backend;  // that renders pictures, for people; none if the server cannot
  std::vector<ModelInfo> models;
  ViewBounds bounds;
  Camera start_camera;
  std::vector<ViewInfo> views;
  RenderOptions render;
  std::string folder;  // where edits are saved; empty if they cannot be
};

std::string hello_text(const Hello& hello);

enum class NoticeKind { kInfo, kWarning, kError };
std::string notice_text(NoticeKind kind, const std::string& text);

struct ScoreInfo {
  std::size_t view = 0, model = 0;
  std::optional<int> step;    // of the training
  double psnr = 0, ssim = 0;  // null for the page if they are not finite
};
std::string score_text(const ScoreInfo& score);

struct PictureHeader {
  std::int64_t serial = 0;  // of the message that it answers
  std::size_t model = 0;
  Shown shown = Shown::kColor;
  int width_px = 0, height_px = 0;
  bool is_sharp = false;
  std::optional<int> step;  // of the training
};
// The whole binary message.
SharedBytes picture_message(const PictureHeader& header, std::span<const std::byte> jpeg);

// What a page says.
struct CameraMessage {  // what the visitor wants to see
  std::int64_t serial = 0;
  Camera camera;  // at most 4,096 pixels along a side
  bool is_moving = false;
  Shown shown = Shown::kColor;
  std::vector<std::size_t> models;  // at least one
  Vec3f background{0, 0, 0};
  float scale_modifier = 1;
  int sh_degree = 3;
};
struct RestMessage {};
struct ShownMessage {
  std::int64_t serial = 0;
};
struct CommandMessage {
  std::string name;
};
struct ScoreMessage {
  std::size_t view = 0;
};
struct UnknownMessage {};
using PageMessage =
    std::variant<UnknownMessage, CameraMessage, RestMessage, ShownMessage, CommandMessage, ScoreMessage>;

// Throws Error for a message that no page would send.
PageMessage parse_page_message(std::string_view text, std::size_t model_count);

}  // namespace stipple
