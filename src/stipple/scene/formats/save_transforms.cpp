// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "stipple/io/output_file.h"
#include "stipple/scene/formats/points_file.h"
#include "stipple/scene/formats/save_scene.h"

namespace stipple {

namespace {

using nlohmann::ordered_json;

// The inverse, world_from_camera, with OpenGL's axes.
ordered_json matrix_of(const RigidTransform& camera_from_world) {
  const Mat3f& r = camera_from_world.rotation;
  const Vec3f& t = camera_from_world.translation;
  ordered_json rows = ordered_json::array();
  for (int row = 0; row < 3; ++row) {
    const auto entry = [&](int k) { return static_cast<double>(r[row][k]); };  // of the transpose
    const double center = -(entry(0) * t.x + entry(1) * t.y + entry(2) * t.z);
    rows.push_back({entry(0), -entry(1), -entry(2), center});
  }
  rows.push_back({0, 0, 0, 1});
  return rows;
}

ordered_json lens_fields(const Lens& lens) {
  ordered_json fields;
  const bool is_fisheye = lens.kind == Lens::Kind::kFisheye;
  // Other programs take k4 of an OPENCV lens for another term; they reject FULL_OPENCV rather than misread
  // it.
  const bool is_full = !is_fisheye && (lens.radial[3] != 0 || lens.radial[4] != 0 || lens.radial[5] != 0);
  fields["camera_model"] = lens.is_pinhole() ? "PINHOLE"
                           : is_fisheye      ? "OPENCV_FISHEYE"
                           : is_full         ? "FULL_OPENCV"
                                             : "OPENCV";
  fields["w"] = lens.width_px;
  fields["h"] = lens.height_px;
  fields["fl_x"] = lens.focal_px.x;
  fields["fl_y"] = lens.focal_px.y;
  fields["cx"] = lens.center_px.x;
  fields["cy"] = lens.center_px.y;
  if (lens.is_pinhole()) return fields;
  const char* names[] = {"k1", "k2", "k3", "k4", "k5", "k6"};
  for (std::size_t i = 0; i < (is_full ? 6 : 4); ++i) fields[names[i]] = lens.radial[i];
  fields["p1"] = lens.tangential[0];
  fields["p2"] = lens.tangential[1];
  return fields;
}

// The names of the photos that are held out, or of the others; for both, null if the scene does not say.
ordered_json file_names(PosedImages views, bool held_out) {
  ordered_json names;
  for (const PosedImage& view : views)
    if (view.is_test == held_out) names.push_back("images/" + view.name);
  return names;
}

}  // namespace

void save_transforms(PosedImages views, const Points& points, const std::filesystem::path& folder) {
  ordered_json file = views.empty() ? ordered_json::object() : lens_fields(views[0].lens);
  const ordered_json common = file;
  if (points.size() > 0) file["ply_file_path"] = "points.ply";
  if (ordered_json held_out = file_names(views, true); !held_out.is_null()) {
    file["train_filenames"] = file_names(views, false);
    file["val_filenames"] = held_out;  // nerfstudio has both
    file["test_filenames"] = std::move(held_out);
  }
  file["frames"] = ordered_json::array();
  for (const PosedImage& view : views) {
    ordered_json frame = lens_fields(view.lens);
    if (frame == common) frame.clear();
    frame["file_path"] = "images/" + view.name;
    if (!view.mask_name.empty()) frame["mask_path"] = view.mask_name;
    frame["transform_matrix"] = matrix_of(view.camera_from_world);
    file["frames"].push_back(std::move(frame));
  }
  save_points(points, folder / "points.ply");
  OutputFile out(folder / "transforms.json");
  out.write(file.dump(2) + "\n");
  out.commit();
}

}  // namespace stipple
