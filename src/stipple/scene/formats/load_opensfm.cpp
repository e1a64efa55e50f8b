// SPDX-License-Identifier: Apache-2.0
// OpenSfM's reconstruction.json: a list of reconstructions, each with cameras, shots and points. Lengths in
// images are fractions of their longer side, with (0, 0) in the middle. A shot's rotation is an axis times an
// angle; together with the translation it takes points of the world into the camera's frame (x right, y down,
// z forward). The distortion terms are OpenCV's.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/json_file.h"
#include "stipple/scene/formats/json_vectors.h"
#include "stipple/scene/formats/source_builder.h"
#include "stipple/scene/formats/tools.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using nlohmann::json;

constexpr std::uint8_t kGrey = 128;

struct PointEntry {
  std::optional<Vec3<double>> position;
  std::array<std::uint8_t, 3> color{kGrey, kGrey, kGrey};
};

PointEntry read_point(const json& point) {
  PointEntry entry;
  if (!point.is_object()) return entry;
  entry.position = vector_in(point, "coordinates");
  if (const auto color = vector_in(point, "color"))
    for (int c = 0; c < 3; ++c)
      entry.color[static_cast<std::size_t>(c)] =
          static_cast<std::uint8_t>(std::clamp((*color)[c] + 0.5, 0.0, 255.0));
  return entry;
}

PartialLens read_lens(const std::string& id, const json& camera) {
  PartialLens lens;
  const std::string type = text_in(camera, "projection_type");
  const bool is_fisheye = type == "fisheye" || type == "fisheye_opencv";
  if (!is_fisheye && type != "perspective" && type != "simple_radial" && type != "radial" &&
      type != "brown") {
    lens.unsupported =
        fmt::format("camera {}: the projection type {} is not supported; undistort the images first",
                    printable(id), printable(type));
    return lens;
  }
  lens.distortion.kind = is_fisheye ? Lens::Kind::kFisheye : Lens::Kind::kPerspective;
  lens.width_px = number_in(camera, "width");
  lens.height_px = number_in(camera, "height");
  const auto focal = number_in(camera, "focal"), focal_x = number_in(camera, "focal_x");
  if (!lens.width_px || !lens.height_px || (!focal && !focal_x)) {
    lens.unsupported = fmt::format("camera {}: its size or focal length is missing", printable(id));
    return lens;
  }
  const double w = *lens.width_px, h = *lens.height_px, side = std::max(w, h);
  lens.focal_x_px = focal_x.value_or(focal.value_or(0)) * side;
  lens.focal_y_px = number_in(camera, "focal_y").value_or(*lens.focal_x_px / side) * side;
  lens.center_x_px = w / 2 + number_in(camera, "c_x").value_or(0) * side;
  lens.center_y_px = h / 2 + number_in(camera, "c_y").value_or(0) * side;
  const char* radial[] = {"k1", "k2", "k3", "k4"};
  for (std::size_t i = 0; i < (is_fisheye ? 4 : 3); ++i)
    lens.distortion.radial[i] = number_in(camera, radial[i]).value_or(0);
  if (is_fisheye) return lens;
  lens.distortion.tangential = {number_in(camera, "p1").value_or(0), number_in(camera, "p2").value_or(0)};
  return lens;
}

std::optional<CameraFrame> read_frame(const json& shot) {
  const auto rotation = vector_in(shot, "rotation"), translation = vector_in(shot, "translation");
  if (!rotation || !translation) return {};
  const Rows3x3 rows = rotation_about(*rotation);
  Vec3<double> center(0, 0, 0);  // -R^T t
  for (std::size_t r = 0; r < 3; ++r)
    center = center - Vec3<double>(rows[r][0], rows[r][1], rows[r][2]) * (*translation)[static_cast<int>(r)];
  return frame_from_rotation(rows, center);
}

void read_shots(const json& reconstruction, SourceBuilder& builder) {
  std::map<std::string, PartialLens> lens_from_id;
  if (const json* cameras = object_in(reconstruction, "cameras"))
    for (const auto& [id, camera] : cameras->items())
      if (camera.is_object()) lens_from_id.emplace(id, read_lens(id, camera));
  const json* shots = object_in(reconstruction, "shots");
  if (!shots) return;
  for (const auto& [name, shot] : shots->items()) {
    if (!shot.is_object()) {
      builder.add_broken(printable(name));
      continue;
    }
    const std::string id = text_in(shot, "camera");
    const auto known = lens_from_id.find(id);
    LensWithTerms lens;
    if (known != lens_from_id.end())
      lens.lens = known->second;
    else
      lens.lens.unsupported = fmt::format("camera {} is not in the file", printable(id));
    builder.add({name, fmt::format("camera {}", printable(id)), std::move(lens), read_frame(shot)});
  }
}

std::size_t shot_count(const json& reconstruction) {
  const json* shots = reconstruction.is_object() ? object_in(reconstruction, "shots") : nullptr;
  return shots ? shots->size() : 0;
}

// The index of the largest reconstruction, and of equally large ones the first.
std::size_t choose(const json& file, SourceBuilder& builder) {
  std::size_t best = 0;
  std::string list;
  for (std::size_t i = 0; i < file.size(); ++i) {
    if (shot_count(file[i]) > shot_count(file[best])) best = i;
    if (i < 20) list += fmt::format("{}{}", i == 0 ? "" : ", ", count_of(shot_count(file[i]), "image"));
  }
  if (file.size() > 1)
    builder.add_problem(
        {false, fmt::format("{} reconstructions: {}{}", file.size(), list, file.size() > 20 ? ", ..." : ""),
         "The largest is used."});
  return best;
}

// The photos' folder is beside the file or, in the folders of ODM, beside the folder of the file.
std::vector<fs::path> image_folders() { return {"images", ".", "../images", "../../images"}; }

}  // namespace

std::optional<fs::path> find_opensfm(const fs::path& folder) {
  std::error_code ignored;
  for (const char* name : {"reconstruction.json", "opensfm/reconstruction.json"})
    if (fs::is_regular_file(folder / name, ignored)) return folder / name;
  return {};
}

SceneSource read_opensfm(const fs::path& path) {
  std::vector<std::vector<PointEntry>> points;  // by reconstruction
  JsonList list{"points", 2, "", {}, [&] { points.clear(); }};
  list.take = [&](json&& point, std::size_t reconstruction) {
    points.resize(std::max(points.size(), reconstruction + 1));
    points[reconstruction].push_back(read_point(point));
  };
  const json file = load_json(path, "a reconstruction.json", list);
  if (!file.is_array() || std::ranges::none_of(file, [](const json& r) { return r.is_object(); }))
    throw Error(fmt::format("{}: the file must hold a list of reconstructions; this is not one of OpenSfM",
                            path.string()));
  SourceBuilder builder;
  const std::size_t best = choose(file, builder);
  if (file[best].is_object()) read_shots(file[best], builder);
  if (best < points.size()) {
    for (const PointEntry& p : points[best]) {
      if (p.position)
        builder.add_point(path.filename().string(), *p.position, p.color);
      else
        builder.add_broken_point(path.filename().string());
    }
  }
  return builder.build(fmt::format("OpenSfM ({})", path.filename().string()), path.parent_path(),
                       image_folders());
}

}  // namespace stipple
