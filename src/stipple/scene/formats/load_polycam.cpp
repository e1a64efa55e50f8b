// SPDX-License-Identifier: Apache-2.0
// Polycam's raw data: in keyframes/, a .json file per photo, of the same name. corrected_cameras belong to
// corrected_images, and cameras, as the device tracked them, to images. t_00 to t_23 are the rows of
// world_from_camera with ARKit's axes: x right, y up, looking along -z, in a world whose y is up. There are
// no points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json_file.h"
#include "stipple/scene/formats/files_with_extension.h"
#include "stipple/scene/formats/source_builder.h"
#include "stipple/scene/formats/tools.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr const char* kCorrected = "corrected_cameras";

Rows3x4 read_matrix(const json& camera) {
  Rows3x4 rows;
  for (std::size_t r = 0; r < 3; ++r)
    for (std::size_t c = 0; c < 4; ++c)
      rows[r][c] = number_in(camera, fmt::format("t_{}{}", r, c).c_str()).value_or(std::nan(""));
  return rows;
}

PartialLens read_lens(const json& camera) {
  PartialLens lens;
  lens.width_px = number_in(camera, "width");
  lens.height_px = number_in(camera, "height");
  lens.focal_x_px = number_in(camera, "fx");
  lens.focal_y_px = number_in(camera, "fy");
  lens.center_x_px = number_in(camera, "cx");
  lens.center_y_px = number_in(camera, "cy");
  if (!lens.focal_x_px && !lens.focal_y_px) lens.unsupported = "its focal length is missing";
  return lens;
}

}  // namespace

std::optional<fs::path> find_polycam(const fs::path& folder) {
  for (const char* parent : {"keyframes", "."})
    for (const char* name : {kCorrected, "cameras"}) {
      const fs::path cameras = (folder / parent / name).lexically_normal();
      const auto files = files_with_extension(cameras, ".json");
      if (!files.empty() && first_bytes(files[0]).find("\"t_00\"") != std::string::npos) return cameras;
    }
  return {};
}

SceneSource read_polycam(const fs::path& cameras) {
  SourceBuilder builder;
  for (const fs::path& path : files_with_extension(cameras, ".json")) {
    json camera;
    try {
      camera = load_json(path, "a camera of Polycam");
    } catch (const ReadError&) {
      throw;
    } catch (const Error&) {  // a broken file counts as a broken entry
    }
    if (!camera.is_object()) {
      builder.add_broken(path.filename().string());
      continue;
    }
    LensWithTerms lens{read_lens(camera)};
    builder.add({path.stem().string() + ".jpg", path.filename().string(), std::move(lens),
                 frame_from_matrix(read_matrix(camera), CameraAxes::kOpenGl)});
  }
  const bool is_corrected = cameras.filename() == kCorrected;
  return builder.build(fmt::format("Polycam ({})", cameras.filename().string()), cameras.parent_path(),
                       {is_corrected ? "corrected_images" : "images"});
}

}  // namespace stipple
