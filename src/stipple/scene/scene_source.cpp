// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/scene_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "stipple/core/error.h"
#include "stipple/scene/formats/colmap.h"
#include "stipple/scene/formats/points_file.h"
#include "stipple/scene/formats/transforms.h"
#include "stipple/scene/image_finder.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

using Problems = std::vector<SceneProblem>;

// Adds a problem when anything was dropped; {} in `what` are the count with its noun, and an example.
void report(const Dropped& dropped, const char* noun, const char* what, const char* advice, Problems& to) {
  if (dropped.count == 0) return;
  to.push_back(
      {false, fmt::format(fmt::runtime(what), count_of(dropped.count, noun), dropped.first), advice});
}

void report_twice(const Dropped& twice, Problems& to) {
  report(twice, "image", "{} whose name was there before, such as {}", "Only the first of each is used.", to);
}

void report_colmap(const ColmapModel& model, Problems& to) {
  report(model.bad_poses, "image", "{} with a pose that is not a number, such as {}",
         "They are left out; the reconstruction failed there.", to);
  report_twice(model.twice, to);
  report(model.bad_points, "point", "{} at a place that is not a number, such as {}", "They are left out.",
         to);
  report(model.bad_lines, "line", "{} without sense, such as {}",
         "They are left out; export the model again if there are many.", to);
  report(model.short_files, "file", "{} that may be cut: {}", "If it is, copy or export the model again.",
         to);
}

// images_2, images_4, ... and the like, in the order of their names.
std::vector<fs::path> shrunk_folders(const fs::path& base) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator it(base, error), end; !error && it != end; it.increment(error))
    if (it->path().filename().string().starts_with("images_")) found.push_back(it->path().filename());
  std::sort(found.begin(), found.end());
  return found;
}

// Where the photos of a model may be; a model's own folder may be inside the scene's.
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

// The model to use: the largest, of equals the customary one.
fs::path choose_model(const std::vector<fs::path>& models, const fs::path& root, Problems& problems) {
  if (models.size() == 1) return models[0];
  std::size_t best = 0, most = 0;
  std::string list;
  for (std::size_t i = 0; i < models.size(); ++i) {
    std::size_t count = 0;
    try {
      count = colmap_image_count(models[i]);
    } catch (const Error&) {  // a broken one is not chosen while there is another
    }
    list += fmt::format("{}{} ({})", i == 0 ? "" : ", ", relative_name(models[i], root),
                        count_of(count, "image"));
    if (count > most) best = i, most = count;
  }
  problems.push_back({false, fmt::format("{} COLMAP models: {}", models.size(), list),
                      fmt::format("The largest, {}, is used; to use another, give its folder.",
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
  for (const auto& [why, images] : unusable)
    source.problems.push_back({false,
                               fmt::format("{} cannot be used, {}", count_of(images.count, "image"), why),
                               "They are left out."});
  report(without_camera, "image", "{} whose camera is not in the model, such as {}",
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
    source.problems.push_back({false, why, "Points at random are used instead; training takes longer."});
  };
  if (!path) return fail(fmt::format("ply_file_path leads outside the scene: {}", transforms.points_path));
  try {
    Dropped bad;
    source.points = load_points(source.base / *path, bad.count);
    bad.first = path->string();
    report(bad, "point", "{} at a place that is not a number, in {}", "They are left out.", source.problems);
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
  report(transforms.bad_frames, "frame", "{} without a file_path or a transform_matrix, such as {}",
         "They are left out.", source.problems);
  report(transforms.bad_poses, "image",
         "{} with a transform_matrix that is no rotation and translation, such as {}",
         "They are left out; the reconstruction failed there.", source.problems);
  Dropped unsupported, twice;
  std::set<std::string> names;
  for (const TransformsFrame& f : transforms.frames) {
    if (!f.lens.unsupported.empty())
      unsupported.add(f.lens.unsupported);
    else if (!names.insert(f.image_path).second)  // else a photo may be both trained on and held out
      twice.add(f.image_path);
    else
      source.images.push_back(
          {f.image_path, f.mask_path, "its frame", f.lens, f.camera_from_world, f.is_test});
  }
  report_twice(twice, source.problems);
  report(unsupported, "image", "{} cannot be used: {}", "They are left out.", source.problems);
  read_transforms_points(transforms, source);
  return source;
}

}  // namespace

std::string count_of(std::size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

SceneSource read_scene_source(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_regular_file(path, ignored) && path.extension() == ".json") return read_transforms(path);
  if (!fs::exists(path, ignored)) throw Error(fmt::format("{}: there is no such folder", path.string()));
  if (!fs::is_directory(path, ignored))
    throw Error(fmt::format("{}: this is a file; give the folder of the scene", path.string()));
  // Without a trailing slash, so that names relative to it come out right.
  const fs::path root = (path / ".").lexically_normal().parent_path();
  std::vector<fs::path> models = find_colmap_models(root.empty() ? fs::path(".") : root);
  const std::optional<fs::path> transforms = find_transforms(path);
  // Beside a transforms.json, an images.txt may be any list of names.
  if (transforms) std::erase_if(models, [](const fs::path& m) { return !is_whole_colmap_model(m); });
  if (!models.empty()) return read_colmap(root.empty() ? fs::path(".") : root, models);
  if (transforms) return read_transforms(*transforms);
  throw NotAScene(fmt::format("{}: this folder holds neither a COLMAP model (sparse/0) nor a transforms.json",
                              path.string()));
}

}  // namespace stipple
