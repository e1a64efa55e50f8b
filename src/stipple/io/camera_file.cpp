// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/camera_file.h"

#include <fmt/format.h>

#include <cmath>

#include "stipple/core/error.h"
#include "stipple/io/camera_json.h"
#include "stipple/io/output_file.h"

namespace stipple {

namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{1} << 20;  // a camera takes a few hundred bytes

bool is_finite(const Camera& camera) {
  const auto finite = [](Vec3f v) { return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z); };
  const RigidTransform& pose = camera.camera_from_world;
  return finite(pose.rotation[0]) && finite(pose.rotation[1]) && finite(pose.rotation[2]) &&
         finite(pose.translation) && std::isfinite(camera.focal_px.x) && std::isfinite(camera.focal_px.y) &&
         std::isfinite(camera.center_px.x) && std::isfinite(camera.center_px.y);
}

}  // namespace

Camera load_camera(const std::filesystem::path& path) {
  const NamedJson file = load_own_json(path, kMaxFileBytes, "a camera file");
  return camera_from(JsonFields(file.value, file.file_name));
}

void save_camera(const Camera& camera, const std::filesystem::path& path) {
  if (!is_finite(camera)) {  // JSON cannot represent NaN and infinity
    throw Error(fmt::format("cannot write {}: the camera has a value that is not finite", path.string()));
  }
  const Mat3f& rotation = camera.camera_from_world.rotation;
  const auto row_text = [&](int row) {
    return fmt::format("    [{}, {}, {}, {}]", rotation[0][row], rotation[1][row], rotation[2][row],
                       camera.camera_from_world.translation[row]);
  };
  OutputFile file(path);
  // fmt writes the shortest decimal that reads back as the same float.
  file.write(fmt::format("{{\n  \"width\": {},\n  \"height\": {},\n", camera.width_px, camera.height_px));
  file.write(fmt::format("  \"fx\": {},\n  \"fy\": {},\n", camera.focal_px.x, camera.focal_px.y));
  file.write(fmt::format("  \"cx\": {},\n  \"cy\": {},\n", camera.center_px.x, camera.center_px.y));
  file.write(fmt::format("  \"camera_from_world\": [\n{},\n{},\n{}\n  ]\n}}\n", row_text(0), row_text(1),
                         row_text(2)));
  file.commit();
}

}  // namespace stipple
