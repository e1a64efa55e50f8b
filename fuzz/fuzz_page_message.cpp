// SPDX-License-Identifier: Apache-2.0
// Reads what the page of a visitor sends: messages of its WebSocket, and edits to save.
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <variant>

#include "apps/stipple/view/messages.h"
#include "apps/stipple/view/model_edits.h"
#include "fuzz/fuzz_folder.h"
#include "fuzz/require.h"

namespace stipple {
namespace {

constexpr std::size_t kModelCount = 2;

bool is_within(double low, double x, double high) { return low <= x && x <= high; }  // false for NaN

void check_camera_message(const CameraMessage& message) {
  const Camera& camera = message.camera;
  require(is_within(1, camera.width_px, 4096) && is_within(1, camera.height_px, 4096));
  require(camera.focal_px.x > 0 && camera.focal_px.y > 0);
  for (const float x : {camera.focal_px.x, camera.focal_px.y, camera.center_px.x, camera.center_px.y})
    require(std::isfinite(x));
  for (int i = 0; i < 3; ++i) {
    require(std::isfinite(camera.camera_from_world.translation[i]));
    require(is_within(0, message.background[i], 1));
  }
  require(is_within(1, static_cast<double>(message.models.size()), kModelCount));
  for (const std::size_t model : message.models) require(model < kModelCount);
  require(message.serial >= 0 && is_within(1e-3, message.scale_modifier, 1e3));
  require(is_within(0, message.sh_degree, 3));
}

void read_message(std::string_view text) {
  const PageMessage message = parse_page_message(text, kModelCount);
  if (const auto* camera = std::get_if<CameraMessage>(&message)) check_camera_message(*camera);
  if (const auto* shown = std::get_if<ShownMessage>(&message)) require(shown->serial >= 0);
}

Gaussians a_few_gaussians() {
  Gaussians gaussians;
  for (int i = 0; i < 11; ++i) gaussians.mean.push_back(Vec3f(0.1f, -0.2f, 1) * static_cast<float>(i));
  return gaussians;
}

void read_edits(std::string_view text) {
  static const Gaussians gaussians = a_few_gaussians();
  const ModelEdits edits = parse_edits(text);
  expect_error_or_result([&] {
    check_edited_name(edits.name, true);
    const std::filesystem::path folder = "folder", path = folder / edits.name;
    require(path.parent_path() == folder && path.lexically_normal() == path);
  });
  const std::vector<std::uint32_t> rows = rows_left(edits, gaussians);
  for (std::size_t i = 0; i < rows.size(); ++i)
    require(rows[i] < gaussians.size() && (i == 0 || rows[i - 1] < rows[i]));
}

}  // namespace
}  // namespace stipple

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  expect_error_or_result([&] { read_message(text); });
  expect_error_or_result([&] { read_edits(text); });
  return 0;
}
