// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/scene_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/scene/formats/colmap.h"
#include "stipple/scene/formats/files_with_extension.h"
#include "stipple/scene/formats/points_file.h"
#include "stipple/scene/formats/source_builder.h"
#include "stipple/scene/formats/tools.h"
#include "stipple/scene/formats/transforms.h"
#include "stipple/scene/image_finder.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using Problems = std::vector<SceneProblem>;

constexpr const char* kFailedPoses = "They are left out; the reconstruction failed for them.";

void report_colmap(const ColmapModel& model, Problems& to) {
  report(model.bad_poses, "image", "with an invalid pose", kFailedPoses, to);
  report_duplicates(model.twice, to);
  report(model.bad_points, "point", "with values that are not finite", "They are left out.", to);
  report(model.bad_lines, "line", "that cannot be parsed",
         "They are left out; if there are many, export the model again.", to);
  report(model.short_files, "file", "that may be truncated", "If so, copy or export the model again.", to);
}

// images_2, images_4 and the like, in name order.
std::vector<fs::path> shrunk_folders(const fs::path& base) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(base, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with("images_")) found.push_back(it->path().filename());
  std::sort(found.begin(), found.end());
  return found;
}

// Candidates for the folder of a model's photos. `root` may be the model's own folder, inside the scene's.
std::vector<fs::path> colmap_image_folders(const fs::path& root, const fs::path& model) {
  std::vector<fs::path> folders = {"images", "input"};
  for (const fs::path& folder : shrunk_folders(root)) folders.push_back(folder);
  folders.push_back(".");
  if (model == root || root.filename() == "sparse") {  // given as scene/sparse/0 or scene/sparse
    folders.push_back("../images");
    folders.push_back("../../images");
  }
  return folders;
}

std::string relative_name(const fs::path& path, const fs::path& root) {
  const fs::path relative = path.lexically_relative(root);
  return relative == "." ? "the folder itself" : relative.string();
}

// Chooses the largest model, and of equally large ones the first.
fs::path choose_model(const std::vector<fs::path>& models, const fs::path& root, Problems& problems) {
  if (models.size() == 1) return models[0];
  std::size_t best = 0, most = 0;
  std::string list;
  for (std::size_t i = 0; i < models.size(); ++i) {
    std::size_t count = 0;
    try {
      count = colmap_image_count(models[i]);
    } catch (const ReadError&) {
      throw;
    } catch (const Error&) {  // a broken model counts as empty
    }
    list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", relative_name(models[i], root),
                        count_of(count, "image"));
    if (count > most) best = i, most = count;
  }
  problems.push_back({false, fmt::format("{} COLMAP models: {}", models.size(), list),
                      fmt::format("The largest, {}, is used; to use another one, give its folder.",
                                  relative_name(models[best], root))});
  return models[best];
}

void add_colmap_images(const ColmapModel& model, SceneSource& source) {
  Dropped without_camera;
  std::map<std::string, Dropped> unusable;
  for (const ColmapImage& image : model.images) {
    const auto lens = model.lens_from_camera_id.find(image.camera_id);
    const auto why = model.unusable_cameras.find(image.camera_id);
    if (lens != model.lens_from_camera_id.end())
      source.images.push_back({image.name,
                               "",
                               fmt::format("camera {}", image.camera_id),
                               PartialLens(lens->second),
                               image.camera_from_world,
                               {}});
    else if (why != model.unusable_cameras.end())
      unusable[why->second].add(image.name);
    else
      without_camera.add(fmt::format("{} (camera {})", image.name, image.camera_id));
  }
  for (const auto& [why, images] : unusable) report_unusable_camera(images.count, why, source.problems);
  report(without_camera, "image", "whose camera is not in the model",
         "They are left out; export the whole model again.", source.problems);
}

SceneSource read_colmap(const fs::path& root, const std::vector<fs::path>& models) {
  SceneSource source;
  const fs::path folder = choose_model(models, root, source.problems);
  ColmapModel model = load_colmap(folder);
  const char* kind = colmap_format(folder) == ColmapFormat::kBinary ? "binary" : "text";
  source.format = fmt::format("COLMAP model ({}) in {}", kind, relative_name(folder, root));
  source.base = root;
  source.image_folders = colmap_image_folders(root, folder);
  report_colmap(model, source.problems);
  add_colmap_images(model, source);
  source.points = std::move(model.points);
  return source;
}

void read_transforms_points(const Transforms& transforms, SceneSource& source) {
  if (transforms.points_path.empty()) return;
  const std::optional<fs::path> path = contained_path(transforms.points_path);
  const auto fail = [&](const std::string& why) {
    source.problems.push_back({false, why, "Random points are used instead, so training takes longer."});
  };
  if (!path) return fail(fmt::format("ply_file_path leads outside the scene: {}", transforms.points_path));
  try {
    std::size_t bad_count = 0;
    source.points = load_points(source.base / *path, bad_count);
    if (bad_count > 0)
      source.problems.push_back({false,
                                 fmt::format("{} in {} with coordinates that are not finite",
                                             count_of(bad_count, "point"), path->string()),
                                 "They are left out."});
  } catch (const ReadError&) {
    throw;
  } catch (const Error& error) {
    fail(error.what());
  }
}

SceneSource read_transforms(const fs::path& file) {
  SceneSource source;
  const Transforms transforms = load_transforms(file);
  source.format = transforms.format;
  source.base = file.parent_path();
  source.image_folders = {"."};
  report(transforms.bad_frames, "frame", "without a file_path or a valid transform_matrix",
         "They are left out; export the file again.", source.problems);
  report(transforms.bad_poses, "image", "with a transform_matrix that is not a rigid transform", kFailedPoses,
         source.problems);
  Dropped unsupported, duplicates;
  std::set<std::string> names;
  for (const TransformsFrame& f : transforms.frames) {
    if (!f.lens.unsupported.empty())
      unsupported.add(f.lens.unsupported);
    else if (!names.insert(f.image_path).second)  // a duplicate could be both trained on and held out
      duplicates.add(f.image_path);
    else
      source.images.push_back(
          {f.image_path, f.mask_path, "its frame", f.lens, f.camera_from_world, f.is_test});
  }
  report_duplicates(duplicates, source.problems);
  report_unusable_camera(unsupported.count, unsupported.first, source.problems);
  read_transforms_points(transforms, source);
  return source;
}

using Reader = SceneSource (*)(const fs::path&);

struct Format {
  std::optional<fs::path> (*find)(const fs::path& folder);
  Reader read;
};

// Besides COLMAP, in the order in which they are looked for: first those whose files have names of their own.
constexpr Format kFormats[] = {
    {find_transforms, read_transforms}, {find_opensfm, read_opensfm},
    {find_openmvg, read_openmvg},       {find_polycam, read_polycam},
    {find_metashape, read_metashape},   {find_realitycapture, read_realitycapture},
};

struct SceneFile {
  fs::path path;
  Reader read;
};

std::optional<SceneFile> find_scene_file(const fs::path& folder) {
  for (const Format& format : kFormats)
    if (const std::optional<fs::path> path = format.find(folder)) return SceneFile{*path, format.read};
  return {};
}

// Recognises a file that the user named by its extension and, for .json, by its start; null if it cannot be
// one.
Reader reader_of_file(const fs::path& path) {
  const fs::path extension = path.extension();
  if (extension == ".xml") return read_metashape;
  if (extension == ".csv") return read_realitycapture;
  if (extension != ".json") return nullptr;
  const std::string start = first_bytes(path);
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first != start.npos && start[first] == '[') return read_opensfm;
  return start.find("\"sfm_data_version\"") != start.npos ? read_openmvg : read_transforms;
}

}  // namespace

std::string count_of(std::size_t count, const char* noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string describe(const Dropped& dropped, const char* noun, std::string_view what) {
  return fmt::format("{} {}{} {}", count_of(dropped.count, noun), what,
                     dropped.count == 1 ? ":" : ", such as", dropped.first);
}

SceneSource read_scene_source(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored))
    if (const Reader read = reader_of_file(path)) return read(path);
  if (!fs::exists(path, ignored)) throw Error(fmt::format("{}: there is no such folder", path.string()));
  if (!fs::is_directory(path, ignored))
    throw Error(
        fmt::format("{}: this is a file; give the scene's folder, or a .json, .xml or .csv file with cameras",
                    path.string()));
  // Without a trailing slash, so that lexically_relative() works.
  fs::path root = (path / ".").lexically_normal().parent_path();
  if (root.empty()) root = ".";
  std::vector<fs::path> models = find_colmap_models(root);
  const std::optional<SceneFile> file = find_scene_file(root);
  // Beside the file of another format, an images.txt may be just a list of names.
  if (file) std::erase_if(models, [](const fs::path& m) { return !is_whole_colmap_model(m); });
  if (!models.empty()) return read_colmap(root, models);
  if (file) return file->read(file->path);
  throw NotAScene(fmt::format(
      "{}: this folder holds neither a COLMAP model (sparse/0) nor a transforms.json, nor cameras of "
      "another known program",
      path.string()));
}

}  // namespace stipple
