// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <set>

#include "stipple/io/json.h"
#include "stipple/scene/formats/camera_frame.h"
#include "stipple/scene/formats/save_tools.h"

namespace stipple {

namespace {

using nlohmann::ordered_json;

constexpr std::uint64_t kNewId = std::uint64_t{1} << 31;  // marks what occurs for the first time

ordered_json list(Vec3<double> v) { return {v.x, v.y, v.z}; }

ordered_json view_of(const PosedImage& image, std::size_t id, std::size_t intrinsic) {
  ordered_json data;
  data["local_path"] = "";
  data["filename"] = image.name;
  data["width"] = image.lens.width_px;
  data["height"] = image.lens.height_px;
  data["id_view"] = id;
  data["id_intrinsic"] = intrinsic;
  data["id_pose"] = id;
  ordered_json view;
  view["key"] = id;
  view["value"]["polymorphic_id"] = std::uint64_t{1} << 30;  // of the declared type itself
  view["value"]["ptr_wrapper"]["id"] = kNewId + id + 1;
  view["value"]["ptr_wrapper"]["data"] = std::move(data);
  return view;
}

// The kinds of intrinsics, numbered in the order in which they occur.
class Kinds {
 public:
  void write(const std::string& name, ordered_json& value) {
    const auto [found, is_new] = numbers_.emplace(name, numbers_.size() + 1);
    value["polymorphic_id"] = found->second + (is_new ? kNewId : 0);
    if (is_new) value["polymorphic_name"] = name;
  }

 private:
  std::map<std::string, std::uint64_t> numbers_;
};

std::string write_distortion(const Lens& lens, ordered_json& data) {
  const auto& k = lens.radial;
  if (lens.is_pinhole()) return "pinhole";
  if (lens.kind == Lens::Kind::kFisheye) {
    data["fisheye"] = {k[0], k[1], k[2], k[3]};
    return "fisheye";
  }
  data["disto_t2"] = {k[0], k[1], k[2], lens.tangential[0], lens.tangential[1]};
  return "pinhole_brown_t2";
}

ordered_json intrinsic_of(const Lens& lens, std::size_t id, std::size_t pointer, Kinds& kinds) {
  ordered_json data;
  data["width"] = lens.width_px;
  data["height"] = lens.height_px;
  data["focal_length"] = lens.focal_px.x;
  data["principal_point"] = {lens.center_px.x, lens.center_px.y};
  const std::string kind = write_distortion(lens, data);
  ordered_json intrinsic;
  intrinsic["key"] = id;
  kinds.write(kind, intrinsic["value"]);
  intrinsic["value"]["ptr_wrapper"]["id"] = kNewId + pointer;
  intrinsic["value"]["ptr_wrapper"]["data"] = std::move(data);
  return intrinsic;
}

ordered_json pose_of(const PosedImage& image, std::size_t id) {
  const CameraFrame frame = frame_of(image.camera_from_world);
  ordered_json pose;
  pose["key"] = id;
  pose["value"]["rotation"] = {list(frame.right), list(frame.down), list(frame.forward)};
  pose["value"]["center"] = list(frame.center);
  return pose;
}

ordered_json point_of(Vec3f p, std::size_t id) {
  ordered_json point;
  point["key"] = id;
  point["value"]["X"] = {p.x, p.y, p.z};
  point["value"]["observations"] = ordered_json::array();
  return point;
}

}  // namespace

void save_openmvg(PosedImages images, const Points& points, const std::filesystem::path& folder) {
  for (const PosedImage& image : images) require_lens(image, "OpenMVG", {false, true, true});
  const SharedLenses shared = share_lenses(images);
  ordered_json file;
  file["sfm_data_version"] = "0.3";
  file["root_path"] = "images";
  for (const char* part : {"views", "intrinsics", "extrinsics", "structure", "control_points"})
    file[part] = ordered_json::array();
  Kinds kinds;
  for (std::size_t i = 0; i < shared.lenses.size(); ++i)
    file["intrinsics"].push_back(intrinsic_of(shared.lenses[i], i, images.size() + i + 1, kinds));
  for (std::size_t i = 0; i < images.size(); ++i) {
    file["views"].push_back(view_of(images[i], i, shared.lens_of_image[i]));
    file["extrinsics"].push_back(pose_of(images[i], i));
  }
  for (std::size_t i = 0; i < points.size(); ++i)
    file["structure"].push_back(point_of(points.position[i], i));
  save_text(file.dump(1) + "\n", folder / "sfm_data.json");
}

}  // namespace stipple
