// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/save_scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "stipple/core/byte_text.h"
#include "stipple/core/error.h"
#include "stipple/scene/formats/save_scene.h"
#include "stipple/scene/scene_source.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

bool is_in(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

fs::path real_path(const fs::path& path) {
  std::error_code error;
  fs::path real = fs::weakly_canonical(fs::absolute(path), error);
  if (error) throw Error(fmt::format("{}: {}", path.string(), error.message()));
  return real.has_filename() ? real : real.parent_path();  // without a trailing slash
}

void check_folder(const Scene& scene, const fs::path& folder, const SaveSceneOptions& options) {
  const fs::path to = real_path(folder), given = real_path(scene.path);
  const fs::path from = fs::is_directory(given) ? given : given.parent_path();
  bool is_own = is_in(to, from) || is_in(from, to);
  for (const SceneView& view : scene.views) is_own = is_own || is_in(real_path(view.image_path), to);
  if (is_own)
    throw Error(
        fmt::format("{}: this folder overlaps with that of the scene; name another one", folder.string()));
  std::error_code ignored;
  if (fs::exists(to, ignored) && !fs::is_directory(to, ignored))
    throw Error(fmt::format("{}: this is not a folder", folder.string()));
  if (fs::exists(to, ignored) && !fs::is_empty(to, ignored) && !options.overwrite)
    throw Error(fmt::format("{}: this folder is not empty; name another one, or allow to write into it",
                            folder.string()),
                {"overwrite"});
  if (const fs::path other = scene_read_instead(options.format, to); !other.empty())
    throw Error(fmt::format("{} already exists and would be read instead; remove it, or name another folder",
                            other.string()));
}

void create_parent(const fs::path& file) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error)
    throw Error(fmt::format("cannot create the folder {}: {}", file.parent_path().string(), error.message()));
}

void place(const fs::path& from, const fs::path& to, PhotoTransfer transfer) {
  if (transfer == PhotoTransfer::kNone) return;
  create_parent(to);
  std::error_code error;
  fs::remove(to, error);  // it may be a link to a photo, which must not be written through
  if (transfer == PhotoTransfer::kLink)
    fs::create_symlink(real_path(from), to, error);
  else
    fs::copy_file(from, to, error);
  if (error) throw Error(fmt::format("cannot write {}: {}", to.string(), error.message()));
}

// Names relative to images/: the names of the scene, with the names of the files, which may differ in their
// extension. In transforms.json, names usually start with "images/".
std::vector<std::string> photo_names(const Scene& scene) {
  const auto names = [&](bool strip) {
    std::vector<std::string> result;
    for (const SceneView& view : scene.views) {
      const fs::path name = fs::path(view.name).parent_path() / view.image_path.filename();
      result.push_back(strip && *name.begin() == "images" ? name.lexically_relative("images").string()
                                                          : name.string());
    }
    return result;
  };
  std::vector<std::string> stripped = names(true);
  const std::set<std::string> unique(stripped.begin(), stripped.end());
  return unique.size() == stripped.size() ? stripped : names(false);
}

// The names without folders, and different without their extensions: left/01.png becomes left_01.png.
std::vector<std::string> flat_names(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  std::set<std::string> stems;
  for (std::string name : names) {
    std::ranges::replace(name, '/', '_');
    const fs::path flat = name;
    std::string stem = flat.stem().string();
    for (int i = 2; !stems.insert(stem).second; ++i) stem = fmt::format("{}_{}", flat.stem().string(), i);
    result.push_back(stem + flat.extension().string());
  }
  return result;
}

std::vector<std::string> photo_names(const Scene& scene, const SceneWriter& writer) {
  const std::vector<std::string> names = photo_names(scene);
  return writer.name == "polycam" ? flat_names(names) : names;
}

// Before any photo is copied.
void check_names(const Scene& scene, const std::vector<std::string>& names, const SceneWriter& writer) {
  if (!writer.needs_utf8) return;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (utf8_from_bytes(names[i]) != names[i])
      throw Error(
          fmt::format("{}: the name of this photo is not UTF-8, which {} needs; rename it, or write "
                      "another format, such as colmap",
                      scene.views[i].image_path.string(), writer.main_file));
}

// A name by which a mask is found (find_mask()), beside the folder of the photos.
std::string mask_name(const fs::path& photo, const fs::path& mask) {
  const bool is_png = mask.extension() == ".png" || mask.extension() == ".PNG";
  return (fs::path("masks") /
          (is_png ? photo.string() + ".png" : fs::path(photo).replace_extension(".jpg").string()))
      .string();
}

// Whether the views that are held out are not those that would be if the data did not say.
bool has_own_split(const Scene& scene, const std::vector<std::string>& names) {
  std::vector<std::size_t> order(names.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return names[i]; });
  for (std::size_t i = 0; i < order.size(); ++i)
    if (scene.views[order[i]].is_test != (i % kTestEvery == 0)) return true;
  return false;
}

}  // namespace

std::vector<SceneProblem> save_scene(const Scene& scene, const fs::path& folder,
                                     const SaveSceneOptions& options) {
  const SceneWriter& writer = scene_writer(options.format);
  check_folder(scene, folder, options);
  const std::vector<std::string> names = photo_names(scene, writer);
  check_names(scene, names, writer);
  remove_cameras(writer, folder);
  const bool own_split = has_own_split(scene, names);
  const fs::path images_folder = folder / writer.image_folder;
  std::vector<PosedImage> images;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const SceneView& view = scene.views[i];
    PosedImage image{names[i], view.lens, view.camera.camera_from_world};
    if (own_split) image.is_test = view.is_test;
    place(view.image_path, images_folder / names[i], options.photos);
    if (!view.mask_path.empty()) {
      image.mask_name = mask_name(names[i], view.mask_path);
      place(view.mask_path, images_folder.parent_path() / image.mask_name, options.photos);
    }
    images.push_back(std::move(image));
    if (options.on_photo) options.on_photo(i + 1);
  }
  create_parent(images_folder);
  writer.save(images, scene.has_measured_points() ? scene.points : Points(), folder);
  std::vector<SceneProblem> problems;
  if (own_split && !writer.has_test_views)
    problems.push_back({false, "the scene names its test views, which this format cannot",
                        "Write transforms.json to keep them."});
  return problems;
}

}  // namespace stipple
