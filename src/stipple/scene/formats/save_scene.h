// SPDX-License-Identifier: Apache-2.0
#pragma once
// Writes scenes into an existing folder.
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "stipple/scene/formats/colmap.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct PosedImage {
  std::string name;  // of the file in the folder of the photos
  Lens lens;
  RigidTransform camera_from_world;
  std::string mask_name = {};        // of the file, relative to the scene; empty means none
  std::optional<bool> is_test = {};  // absent if the data does not say
};

using PosedImages = std::span<const PosedImage>;

// Points that are made while they are written, since there may be too many to hold at once.
struct PointStream {
  // Returns the points [begin, end) of all; called for ranges that follow each other.
  using Range = std::function<Points(std::size_t begin, std::size_t end)>;

  std::size_t count;
  Range range;

  PointStream(std::size_t count_, Range range_) : count(count_), range(std::move(range_)) {}
};

Points part_of(const Points& points, std::size_t begin, std::size_t end);

// Writes cameras, points3D and, last, images into this folder, usually sparse/0. Equal lenses share a camera.
void save_colmap(PosedImages images, const Points& points, ColmapFormat format,
                 const std::filesystem::path& folder);
void save_colmap(PosedImages images, const PointStream& points, ColmapFormat format,
                 const std::filesystem::path& folder);

// Writes transforms.json in nerfstudio's dialect, and points.ply unless there are no points. The photos are
// in images/.
void save_transforms(PosedImages images, const Points& points, const std::filesystem::path& folder);

// The formats of other programs (scene/formats/tools.h). Each throws Error for a lens that its format does
// not have.
void save_metashape(PosedImages images, const Points& points, const std::filesystem::path& folder);
void save_realitycapture(PosedImages images, const Points& points, const std::filesystem::path& folder);
void save_opensfm(PosedImages images, const Points& points, const std::filesystem::path& folder);
void save_openmvg(PosedImages images, const Points& points, const std::filesystem::path& folder);
// A photo a/b.png belongs to the file b.json, so that photos need names that differ without extensions.
void save_polycam(PosedImages images, const Points& points, const std::filesystem::path& folder);

// A format as the user names it. save() writes cameras and points into the folder of a scene.
struct SceneWriter {
  std::string_view name;
  const char* image_folder;  // where the photos belong, in the folder of the scene
  const char* main_file;     // by which the format is recognised
  bool needs_utf8;           // its files, of JSON or XML, can only name photos in UTF-8
  bool has_test_views;       // it says which views are held out
  void (*save)(PosedImages images, const Points& points, const std::filesystem::path& folder);
  // The same without holding all points at once; null if the format needs them.
  void (*save_stream)(PosedImages images, const PointStream& points,
                      const std::filesystem::path& folder) = nullptr;
};

// All formats, in the order in which load_scene() looks for them.
std::span<const SceneWriter> scene_writers();
const SceneWriter& scene_writer(std::string_view name);  // throws Error for a name that is not theirs

// Removes the cameras of an earlier scene of this format, so that the folder holds no such scene until new
// ones are written. Photos and points stay.
void remove_cameras(const SceneWriter& writer, const std::filesystem::path& folder);

// The file of another format that load_scene() would read in this folder instead of one of this format; empty
// if there is none.
std::filesystem::path scene_read_instead(std::string_view format, const std::filesystem::path& folder);

}  // namespace stipple
