// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "stipple/core/error.h"
#include "stipple/io/json.h"
#include "stipple/scene/formats/camera_frame.h"
#include "stipple/scene/formats/save_tools.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using nlohmann::ordered_json;

ordered_json camera_of(const PosedImage& image) {
  const Lens& lens = image.lens;
  const CameraFrame f = frame_of(image.camera_from_world);
  ordered_json camera;
  camera["fx"] = lens.focal_px.x;
  camera["fy"] = lens.focal_px.y;
  camera["cx"] = lens.center_px.x;
  camera["cy"] = lens.center_px.y;
  camera["width"] = lens.width_px;
  camera["height"] = lens.height_px;
  for (int r = 0; r < 3; ++r) {
    const double row[] = {f.right[r], -f.down[r], -f.forward[r], f.center[r]};
    for (int c = 0; c < 4; ++c) camera[fmt::format("t_{}{}", r, c)] = row[c];
  }
  return camera;
}

}  // namespace

// Polycam's raw data have no points.
void save_polycam(PosedImages images, const Points&, const fs::path& folder) {
  const fs::path cameras = folder / "keyframes" / "corrected_cameras";
  std::error_code error;
  fs::create_directories(cameras, error);
  if (error) throw Error(fmt::format("cannot create the folder {}: {}", cameras.string(), error.message()));
  for (const PosedImage& image : images) {
    require_lens(image, "Polycam", {true, false, false});
    save_text(camera_of(image).dump(1) + "\n", cameras / fs::path(image.name).replace_extension(".json"));
  }
}

}  // namespace stipple
