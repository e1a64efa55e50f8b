// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/io/json.h"
#include "stipple/scene/formats/save_tools.h"

namespace stipple {

namespace {

using nlohmann::ordered_json;

ordered_json camera_of(const Lens& lens) {
  const double side = std::max(lens.width_px, lens.height_px);
  const bool is_fisheye = lens.kind == Lens::Kind::kFisheye;
  ordered_json camera;
  camera["projection_type"] = is_fisheye ? "fisheye_opencv" : "brown";
  camera["width"] = lens.width_px;
  camera["height"] = lens.height_px;
  camera["focal_x"] = lens.focal_px.x / side;
  camera["focal_y"] = lens.focal_px.y / side;
  camera["c_x"] = (lens.center_px.x - lens.width_px / 2.0) / side;
  camera["c_y"] = (lens.center_px.y - lens.height_px / 2.0) / side;
  const char* radial[] = {"k1", "k2", "k3", "k4"};
  for (std::size_t i = 0; i < (is_fisheye ? 4 : 3); ++i) camera[radial[i]] = lens.radial[i];
  if (is_fisheye) return camera;
  camera["p1"] = lens.tangential[0];
  camera["p2"] = lens.tangential[1];
  return camera;
}

// The rotation's axis times its angle.
ordered_json axis_angle(const Mat3f& rotation) {
  const auto [w, x, y, z] = quaternion_from_rotation(rotation);
  const double sine = std::sqrt(x * x + y * y + z * z);
  const double factor = sine > 0 ? 2 * std::atan2(sine, w) / sine : 0;
  return {x * factor, y * factor, z * factor};
}

ordered_json shot_of(const PosedImage& image, const std::string& camera) {
  const Vec3f t = image.camera_from_world.translation;
  ordered_json shot;
  shot["rotation"] = axis_angle(image.camera_from_world.rotation);
  shot["translation"] = {t.x, t.y, t.z};
  shot["camera"] = camera;
  return shot;
}

}  // namespace

void save_opensfm(PosedImages images, const Points& points, const std::filesystem::path& folder) {
  for (const PosedImage& image : images) require_lens(image, "OpenSfM", {true, true, true});
  const SharedLenses shared = share_lenses(images);
  const auto camera_name = [](std::size_t i) { return fmt::format("camera {}", i + 1); };
  ordered_json reconstruction;
  reconstruction["cameras"] = ordered_json::object();
  for (std::size_t i = 0; i < shared.lenses.size(); ++i)
    reconstruction["cameras"][camera_name(i)] = camera_of(shared.lenses[i]);
  reconstruction["shots"] = ordered_json::object();
  for (std::size_t i = 0; i < images.size(); ++i)
    reconstruction["shots"].push_back(
        {images[i].name, shot_of(images[i], camera_name(shared.lens_of_image[i]))});
  // The points are written by hand: an ordered object takes time proportional to the square of its size.
  std::string list;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Vec3f p = points.position[i];
    const auto& c = points.color[i];
    list += fmt::format("{}\n\"{}\": {{\"color\": [{}, {}, {}], \"coordinates\": [{}, {}, {}]}}",
                        i == 0 ? "" : ",", i, c[0], c[1], c[2], p.x, p.y, p.z);
  }
  std::string text = reconstruction.dump(1);
  text.erase(text.find_last_of('}'));
  save_text(fmt::format("[{},\n\"points\": {{{}}}\n}}]\n", text, list), folder / "reconstruction.json");
}

}  // namespace stipple
