// SPDX-License-Identifier: Apache-2.0
// From what a scene's files say to views whose photos can be loaded.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/core/error.h"
#include "stipple/io/image_file.h"
#include "stipple/scene/image_finder.h"
#include "stipple/scene/random_points.h"
#include "stipple/scene/scene_source.h"
#include "stipple/scene/undistort.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kTestEvery = 8;  // customary: one view in eight is held out

int longer_side(const Lens& lens) { return std::max(lens.width_px, lens.height_px); }

// How much smaller than its lens says a photo is to be trained on.
double working_scale(const Lens& lens, const SceneOptions& options) {
  double scale = 1.0 / options.downscale;
  if (options.max_resolution_px > 0)
    scale = std::min(scale, static_cast<double>(options.max_resolution_px) / longer_side(lens));
  return scale;
}

// The camera for a photo `scale` times the size of its lens; file_scale is how large the file is, and within
// a pixel of that the file's size is taken as it is.
Camera working_camera(const Lens& lens, double scale, const ImageInfo& file) {
  Camera camera = undistorted_camera(lens);
  const auto side = [&](int full, int in_file) {
    const int wanted = std::max(1, static_cast<int>(std::lround(full * scale)));
    return lens.is_pinhole() && std::abs(in_file - wanted) <= 1 ? in_file : wanted;
  };
  const int width = side(camera.width_px, file.width_px), height = side(camera.height_px, file.height_px);
  const Vec2f ratio(static_cast<float>(width) / static_cast<float>(camera.width_px),
                    static_cast<float>(height) / static_cast<float>(camera.height_px));
  camera.focal_px = camera.focal_px * ratio;
  camera.center_px = camera.center_px * ratio;
  camera.width_px = width;
  camera.height_px = height;
  return camera;
}

// Whether a picture of this size is one of the lens's at some scale, to within a pixel of rounding.
bool has_shape_of(const Lens& lens, int width_px, int height_px) {
  const double scale = std::max(static_cast<double>(width_px) / lens.width_px,
                                static_cast<double>(height_px) / lens.height_px);
  return std::abs(scale * lens.width_px - width_px) <= 1.5 &&
         std::abs(scale * lens.height_px - height_px) <= 1.5;
}

// Turns what the files say of each image into a view, and keeps count of those that cannot be one.
class ViewBuilder {
 public:
  ViewBuilder(const SceneSource& source, const SceneOptions& options, Scene& scene)
      : source_(source), options_(options), scene_(scene), finder_(choose_folder()) {}

  void add(const SourceImage& image) {
    const std::optional<fs::path> name = contained_path(image.name);
    if (!name) return outside_.add(image.name);
    const std::optional<fs::path> path = find(*name);
    if (!path) return missing_.add(image.name);
    try {
      add_found(image, *name, *path);
    } catch (const Error& error) {
      unreadable_.add(error.what());
    }
  }

  void report() {
    const auto add = [&](const Dropped& d, const char* what, const std::string& advice) {
      if (d.count == 0) return;
      scene_.problems.push_back(
          {false, fmt::format(fmt::runtime(what), count_of(d.count, "image"), d.first), advice});
    };
    add(missing_, "{} not in the folder, such as {}",
        fmt::format("They are left out; copy them to {}, or say where they are with --images.",
                    finder_.folder().string()));
    add(outside_, "{} whose name leads outside the scene, such as {}", "They are left out.");
    add(unreadable_, "{} cannot be used: {}", "They are left out; copy or convert them again.");
    add(turned_, "{} turned by an Exif orientation that the cameras do not know of, such as {}",
        "They are left out; turn the pixels (exiftran -ai) or remove the tag, whichever the cameras were "
        "computed "
        "from.");
    add(misshapen_, "{} without the shape of their camera, such as {}",
        "They are left out; use the photos that the cameras were computed from.");
  }

 private:
  // The folder that has most of the images where their names say.
  fs::path choose_folder() const {
    std::vector<fs::path> folders = source_.image_folders;
    if (!options_.images.empty()) folders = {options_.images};
    fs::path best = folders[0];
    std::size_t most = 0;
    for (const fs::path& folder : folders) {
      const std::size_t found = count_found(ImageFinder(source_.base / folder));
      if (found > most) best = folder, most = found;
      if (found == source_.images.size()) break;
    }
    if (most == 0) best = first_existing(folders);
    return (source_.base / shrunk_folder(best)).lexically_normal();
  }

  fs::path first_existing(const std::vector<fs::path>& folders) const {
    std::error_code ignored;
    for (const fs::path& folder : folders)
      if (fs::is_directory(source_.base / folder, ignored)) return folder;
    return folders[0];
  }

  std::size_t count_found(const ImageFinder& finder) const {
    return static_cast<std::size_t>(
        std::count_if(source_.images.begin(), source_.images.end(), [&](const SourceImage& image) {
          const auto name = contained_path(image.name);
          return name && finder.has(*name);
        }));
  }

  // images_4 instead of images where that is large enough and whole: it decodes faster.
  fs::path shrunk_folder(const fs::path& folder) const {
    if (folder.filename() != "images" || source_.images.empty()) return folder;
    const FrameLens& first = source_.images[0].lens;
    if (!first.width_px || !first.height_px) return folder;
    Lens lens;
    lens.width_px = static_cast<int>(std::clamp(*first.width_px, 1.0, 65536.0));
    lens.height_px = static_cast<int>(std::clamp(*first.height_px, 1.0, 65536.0));
    const int most = static_cast<int>(1 / working_scale(lens, options_) + 1e-6);
    for (int factor = std::min(most, 64); factor > 1; --factor) {
      const fs::path shrunk = folder.parent_path() / fmt::format("images_{}", factor);
      if (count_found(ImageFinder(source_.base / shrunk)) == source_.images.size()) return shrunk;
    }
    return folder;
  }

  std::optional<fs::path> find(const fs::path& name) {
    if (auto found = finder_.find(name)) return found;
    if (name.has_extension()) return {};
    for (const char* extension : {".png", ".jpg", ".jpeg"})  // NeRF synthetic leaves it out
      if (finder_.has(name.string() + extension)) return finder_.folder() / (name.string() + extension);
    return {};
  }

  void add_found(const SourceImage& image, const fs::path& name, const fs::path& path) {
    const ImageInfo info = upright(load_image_info(path));
    const ImageInfo stored = load_image_info(path);
    Lens lens;
    try {
      lens = resolve_lens(image.lens, info.width_px, info.height_px);
    } catch (const Error& error) {
      throw Error(fmt::format("{}: {}", image.name, error.what()));
    }
    const auto sizes = [&](const ImageInfo& i) {
      return fmt::format("{} ({}x{}, {} {}x{})", image.name, i.width_px, i.height_px, image.camera,
                         lens.width_px, lens.height_px);
    };
    // A camera that was computed from the pixels as stored says nothing of an image turned afterwards.
    const bool is_turned = stored.orientation > 1 && image.lens.width_px.has_value();
    const bool told_apart = info.width_px != stored.width_px &&
                            has_shape_of(lens, info.width_px, info.height_px) &&
                            !has_shape_of(lens, stored.width_px, stored.height_px);
    if (is_turned && !told_apart)
      return turned_.add(fmt::format("{} (orientation {})", image.name, stored.orientation));
    if (!has_shape_of(lens, info.width_px, info.height_px)) return misshapen_.add(sizes(info));
    add_view(image, name, path, lens, info);
  }

  static ImageInfo upright(ImageInfo info) {
    if (info.orientation >= 5) std::swap(info.width_px, info.height_px);
    return info;
  }

  void add_view(const SourceImage& image, const fs::path& name, const fs::path& path, const Lens& lens,
                const ImageInfo& info) {
    SceneView view;
    view.name = name.string();
    view.image_path = path;
    view.mask_path = mask_of(image, name);
    view.alpha = options_.alpha;
    const double in_file = static_cast<double>(std::max(info.width_px, info.height_px)) / longer_side(lens);
    view.camera = working_camera(lens, std::min(working_scale(lens, options_), in_file), info);
    view.camera.camera_from_world = image.camera_from_world;
    view.lens = resized(lens, info.width_px, info.height_px);
    view.is_test = image.is_test.value_or(false);
    scene_.views.push_back(std::move(view));
  }

  fs::path mask_of(const SourceImage& image, const fs::path& name) const {
    if (!image.mask_name.empty()) {
      const auto mask = contained_path(image.mask_name);
      return mask ? source_.base / *mask : fs::path();
    }
    // In transforms.json the folder of the images is part of their names.
    const fs::path below = *name.begin() == "images" ? name.lexically_relative("images") : name;
    return find_mask(source_.base, below);
  }

  const SceneSource& source_;
  const SceneOptions& options_;
  Scene& scene_;
  ImageFinder finder_;
  Dropped missing_, outside_, unreadable_, turned_, misshapen_;
};

void split(const SceneSource& source, Scene& scene) {
  const bool has_own = std::any_of(source.images.begin(), source.images.end(),
                                   [](const SourceImage& i) { return i.is_test.has_value(); });
  if (has_own) return;
  for (std::size_t i = 0; i < scene.views.size(); i += kTestEvery) scene.views[i].is_test = true;
}

[[noreturn]] void fail_without_views(const fs::path& path, const Scene& scene) {
  if (scene.problems.empty()) throw Error(fmt::format("{}: the scene has no images", path.string()));
  throw Error(fmt::format("{}: no image can be used: {}", path.string(), scene.problems.back().what));
}

std::vector<std::size_t> select(const std::vector<SceneView>& views, bool is_test) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < views.size(); ++i)
    if (views[i].is_test == is_test) indices.push_back(i);
  return indices;
}

}  // namespace

std::vector<std::size_t> Scene::train_views() const { return select(views, false); }
std::vector<std::size_t> Scene::test_views() const { return select(views, true); }

Scene load_scene(const fs::path& path, const SceneOptions& options) {
  SceneSource source = read_scene_source(path);
  Scene scene;
  scene.path = path;
  scene.format = source.format;
  scene.problems = source.problems;
  ViewBuilder builder(source, options, scene);
  for (const SourceImage& image : source.images) builder.add(image);
  builder.report();
  if (scene.views.empty()) fail_without_views(path, scene);
  std::sort(scene.views.begin(), scene.views.end(),
            [](const SceneView& a, const SceneView& b) { return a.name < b.name; });
  split(source, scene);
  scene.points = std::move(source.points);
  if (scene.points.size() == 0) {
    scene.has_random_points = true;
    scene.points = random_points(scene.views, options.random_point_count, options.seed);
    scene.problems.push_back(
        {false, "the scene has no points to start from",
         fmt::format("{} at random in front of the cameras are used; training takes longer.",
                     scene.points.size())});
  }
  return scene;
}

}  // namespace stipple
