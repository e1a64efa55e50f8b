// SPDX-License-Identifier: Apache-2.0
// OpenMVG's sfm_data.json: views (photos), intrinsics, extrinsics (poses) and structure (points), which refer
// to each other by number. A pose is the rotation of camera_from_world, row by row, and the camera's centre,
// with x right, y down, z forward. Lengths in images are pixels. Each kind of intrinsics has its distortion
// in a field of its own; their name is given only where a kind occurs for the first time in the file.
#include <fmt/format.h>

#include <cmath>

#include "stipple/core/error.h"
#include "stipple/io/json_file.h"
#include "stipple/scene/formats/json_vectors.h"
#include "stipple/scene/formats/source_builder.h"
#include "stipple/scene/formats/tools.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr std::uint8_t kGrey = 128;  // the file has no colours

using Id = std::uint64_t;

std::optional<Id> id_in(const json& object, const char* field) {
  const auto found = object.find(field);
  if (found == object.end() || !found->is_number_unsigned()) return {};
  return found->get<Id>();
}

// The content of an entry that OpenMVG writes through a pointer to a base class.
const json* data_of(const json& entry) {
  const json* value = entry.is_object() ? object_in(entry, "value") : nullptr;
  const json* pointer = value ? object_in(*value, "ptr_wrapper") : nullptr;
  return pointer ? object_in(*pointer, "data") : nullptr;
}

// Reads distortion terms from a list of numbers; false if it is malformed.
bool read_terms(const json& data, const char* field, std::initializer_list<double*> to) {
  const json* list = array_in(data, field);
  if (!list || list->size() != to.size()) return false;
  std::size_t i = 0;
  for (double* term : to) {
    const json& value = (*list)[i++];
    if (!value.is_number()) return false;
    *term = value.get<double>();
  }
  return true;
}

bool read_distortion(const json& data, Lens& lens) {
  auto& k = lens.radial;
  auto& p = lens.tangential;
  if (data.contains("fisheye")) {
    lens.kind = Lens::Kind::kFisheye;
    return read_terms(data, "fisheye", {&k[0], &k[1], &k[2], &k[3]});
  }
  if (data.contains("disto_t2")) return read_terms(data, "disto_t2", {&k[0], &k[1], &k[2], &p[0], &p[1]});
  if (data.contains("disto_k3")) return read_terms(data, "disto_k3", {&k[0], &k[1], &k[2]});
  if (data.contains("disto_k1")) return read_terms(data, "disto_k1", {&k[0]});
  return true;
}

PartialLens read_lens(Id id, const json* data) {
  PartialLens lens;
  const auto refuse = [&](const char* why) { lens.unsupported = fmt::format("intrinsic {}: {}", id, why); };
  if (!data) {
    refuse("it has no data");
    return lens;
  }
  lens.width_px = number_in(*data, "width");
  lens.height_px = number_in(*data, "height");
  lens.focal_x_px = lens.focal_y_px = number_in(*data, "focal_length");
  const json* center = array_in(*data, "principal_point");
  if (!lens.focal_x_px || !center || center->size() != 2 || !(*center)[0].is_number() ||
      !(*center)[1].is_number()) {
    refuse("it has no focal length or no principal point, as spherical cameras do, which are not supported");
    return lens;
  }
  lens.center_x_px = (*center)[0].get<double>();
  lens.center_y_px = (*center)[1].get<double>();
  if (!read_distortion(*data, lens.distortion)) refuse("its distortion is malformed");
  return lens;
}

std::map<Id, PartialLens> read_lenses(const json& file, SourceBuilder& builder) {
  std::map<Id, PartialLens> lenses;
  const json* list = array_in(file, "intrinsics");
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const json& entry = (*list)[i];
    const auto id = entry.is_object() ? id_in(entry, "key") : std::nullopt;
    if (id)
      lenses.emplace(*id, read_lens(*id, data_of(entry)));
    else
      builder.add_broken(fmt::format("intrinsic {}", i + 1));
  }
  return lenses;
}

struct Pose {
  std::optional<CameraFrame> frame;  // none: it is malformed
};

std::map<Id, Pose> read_poses(const json& file, SourceBuilder& builder) {
  std::map<Id, Pose> poses;
  const json* list = array_in(file, "extrinsics");
  for (std::size_t i = 0; list && i < list->size(); ++i) {
    const json& entry = (*list)[i];
    const auto id = entry.is_object() ? id_in(entry, "key") : std::nullopt;
    const json* value = id ? object_in(entry, "value") : nullptr;
    if (!value) {
      builder.add_broken(fmt::format("extrinsic {}", i + 1));
      continue;
    }
    const auto rotation = matrix_in(*value, "rotation");
    const auto center = vector_in(*value, "center");
    poses.emplace(*id, Pose{rotation && center ? frame_from_rotation(*rotation, *center) : std::nullopt});
  }
  return poses;
}

void read_views(const json& views, const json& file, SourceBuilder& builder) {
  const std::map<Id, PartialLens> lenses = read_lenses(file, builder);
  const std::map<Id, Pose> poses = read_poses(file, builder);
  for (std::size_t i = 0; i < views.size(); ++i) {
    const json* data = data_of(views[i]);
    std::string name = data ? text_in(*data, "filename") : "";
    if (name.empty()) {
      builder.add_broken(fmt::format("view {}", i + 1));
      continue;
    }
    if (const std::string folder = text_in(*data, "local_path"); !folder.empty() && folder != name)
      name = folder + "/" + name;
    const auto pose_id = id_in(*data, "id_pose"), lens_id = id_in(*data, "id_intrinsic");
    const auto pose = pose_id ? poses.find(*pose_id) : poses.end();
    if (pose == poses.end()) {
      builder.add_unposed(name);
      continue;
    }
    const auto lens = lens_id ? lenses.find(*lens_id) : lenses.end();
    PartialLens missing;
    missing.unsupported = "its intrinsic is not in the file";
    builder.add({name,
                 lens_id ? fmt::format("intrinsic {}", *lens_id) : "its intrinsic",
                 {lens == lenses.end() ? missing : lens->second},
                 pose->second.frame});
  }
}

// The photos are in the folder that root_path names, on the machine of OpenMVG. A copy of it may be here.
std::vector<fs::path> image_folders(const json& file) {
  std::vector<fs::path> folders = {"images", "../images", "."};
  std::string root = text_in(file, "root_path");
  while (root.ends_with('/') || root.ends_with('\\')) root.pop_back();
  const std::string last = root.substr(root.find_last_of("/\\") + 1);
  if (!last.empty() && last != "." && last != ".." && last.find('\0') == last.npos)
    for (const char* parent : {"", "../", "../../"}) folders.push_back(parent + last);
  return folders;
}

}  // namespace

std::optional<fs::path> find_openmvg(const fs::path& folder) {
  std::error_code ignored;
  for (const char* parent : {"", "reconstruction_sequential", "reconstruction_global", "reconstruction"})
    if (fs::is_regular_file(folder / parent / "sfm_data.json", ignored))
      return folder / parent / "sfm_data.json";
  return {};
}

SceneSource read_openmvg(const fs::path& path) {
  std::vector<std::optional<Vec3<double>>> points;
  JsonList list{"structure", 1, "observations", {}, [&] { points.clear(); }};
  list.take = [&](json&& entry, std::size_t) {
    const json* value = entry.is_object() ? object_in(entry, "value") : nullptr;
    points.push_back(value ? vector_in(*value, "X") : std::nullopt);
  };
  const json file = load_json(path, "a sfm_data.json", list);
  const json* views = file.is_object() ? array_in(file, "views") : nullptr;
  if (!views)
    throw Error(fmt::format("{}: there is no list of views; this is not a file of OpenMVG", path.string()));
  if (const json* poses = array_in(file, "extrinsics"); !poses || poses->empty())
    throw Error(
        fmt::format("{}: there are no poses; give the file that the reconstruction wrote, with "
                    "extrinsics and structure",
                    path.string()));
  SourceBuilder builder;
  read_views(*views, file, builder);
  const std::string name = path.filename().string();
  for (const auto& position : points) {
    if (position)
      builder.add_point(name, *position, {kGrey, kGrey, kGrey});
    else
      builder.add_broken_point(name);
  }
  return builder.build(fmt::format("OpenMVG ({})", name), path.parent_path(), image_folders(file));
}

}  // namespace stipple
