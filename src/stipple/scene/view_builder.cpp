// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/view_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "stipple/camera/pinhole_lens.h"
#include "stipple/core/error.h"
#include "stipple/io/image/orientation.h"
#include "stipple/io/input_file.h"
#include "stipple/photo/undistort.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

constexpr int kMaxShrinking = 64;  // of folders such as images_4 (a factor of 4)

int longer_side(const Lens& lens) { return std::max(lens.width_px, lens.height_px); }

// The size at which a photo is trained on, relative to the size of its lens.
double working_scale(const Lens& lens, const SceneOptions& options) {
  double scale = 1.0 / options.downscale;
  if (options.max_resolution_px > 0)
    scale = std::min(scale, static_cast<double>(options.max_resolution_px) / longer_side(lens));
  return scale;
}

// Scales a lens's undistorted camera to a photo of `scale` times the lens's size. A pinhole photo whose file
// is within a pixel of that size keeps the size of the file.
Camera working_camera(const Camera& camera, const Lens& lens, double scale, const ImageInfo& file) {
  const auto side = [&](int full, int in_file) {
    const int wanted = std::max(1, static_cast<int>(std::lround(full * scale)));
    return lens.is_pinhole() && std::abs(in_file - wanted) <= 1 ? in_file : wanted;
  };
  return resized(camera, side(camera.width_px, file.width_px), side(camera.height_px, file.height_px));
}

// Whether this size is the lens's size at some scale, up to a pixel of rounding.
bool has_shape_of(const Lens& lens, int width_px, int height_px) {
  const double scale = std::max(static_cast<double>(width_px) / lens.width_px,
                                static_cast<double>(height_px) / lens.height_px);
  return std::abs(scale * lens.width_px - width_px) <= 1.5 &&
         std::abs(scale * lens.height_px - height_px) <= 1.5;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

ImageInfo upright(ImageInfo info) {
  if (swaps_axes(info.orientation)) std::swap(info.width_px, info.height_px);
  return info;
}

// Whether it is unclear if the camera belongs to the stored or to the upright photo. Programs that compute
// cameras use the stored pixels, so a camera is known to be of the upright photo only if it has that photo's
// aspect ratio and not the stored one's. If the data gives no size, the upright photo is assumed.
bool is_ambiguous(const ImageInfo& stored, const Lens& lens, const PartialLens& given) {
  if (stored.orientation <= 1 || !given.width_px) return false;
  const ImageInfo turned = upright(stored);
  return !has_shape_of(lens, turned.width_px, turned.height_px) ||
         has_shape_of(lens, stored.width_px, stored.height_px);
}

}  // namespace

ViewBuilder::ViewBuilder(const SceneSource& source, const SceneOptions& options)
    : source_(source), options_(options), finder_(choose_folder()) {}

void ViewBuilder::add(const SourceImage& image) {
  const std::optional<fs::path> name = contained_path(image.name);
  if (!name) return outside_.add(image.name);
  const std::optional<fs::path> path = find(*name);
  if (!path) return missing_.add(image.name);
  // One photo under two names, such as a.png and ./a.png, could be both trained on and held out.
  if (!paths_.insert(path->lexically_normal()).second) return duplicates_.add(image.name);
  try {
    add_found(image, *name, *path);
  } catch (const ReadError&) {
    throw;
  } catch (const Error& error) {
    unreadable_.add(error.what());
  }
}

std::vector<SceneProblem> ViewBuilder::problems() const {
  std::vector<SceneProblem> found;
  const auto add = [&](const Dropped& dropped, const char* what, const std::string& advice,
                       const std::vector<std::string>& options = {}) {
    if (dropped.count > 0) found.push_back({false, describe(dropped, "photo", what), advice, options});
  };
  add(missing_, "not found",
      fmt::format("They are left out; copy them to {}, or name the folder that holds them.",
                  finder_.folder().string()),
      {"images"});
  add(duplicates_, "under a second name", "Only the first image of each photo is used.");
  add(outside_, "whose name leads outside the scene",
      "They are left out; move the photos into the scene's folder and name them relative to it.");
  add(unreadable_, "cannot be read", "They are left out; copy or convert them again.");
  add(bad_lenses_, "with an unusable camera", "They are left out; correct their cameras.");
  add(turned_, "with an Exif orientation that the cameras may not account for",
      "They are left out; if the cameras were computed from upright photos, rotate the pixels "
      "(exiftran -ai), otherwise remove the Exif tag.");
  add(misshapen_, "whose aspect ratio differs from the camera's",
      "They are left out; use the photos that the cameras were computed from.");
  add(masks_missing_, "whose mask is missing", "They are used without a mask, so all of their pixels count.");
  return found;
}

// The folder that has the most images exactly where their names say.
fs::path ViewBuilder::choose_folder() const {
  std::vector<fs::path> folders = source_.image_folders;
  if (!options_.images.empty()) folders = {options_.images};
  fs::path best;
  std::size_t most = 0;
  for (const fs::path& folder : folders) {
    const std::size_t found = count_found(ImageFinder(source_.base / folder));
    if (found > most) best = folder, most = found;
    if (found == source_.images.size()) break;
  }
  // If no folder has any, the images may be in sub-folders of the first folder that exists.
  for (const fs::path& folder : folders)
    if (best.empty() && is_folder(source_.base / folder)) best = folder;
  if (best.empty()) best = folders[0];
  return (source_.base / shrunk_folder(best)).lexically_normal();
}

std::size_t ViewBuilder::count_found(const ImageFinder& finder) const {
  return static_cast<std::size_t>(
      std::count_if(source_.images.begin(), source_.images.end(), [&](const SourceImage& image) {
        const auto name = contained_path(image.name);
        return name && finder.has(*name);
      }));
}

// The largest factor by which all photos may be shrunk without falling below their working resolution.
int ViewBuilder::most_shrinking() const {
  int most = kMaxShrinking;
  for (const SourceImage& image : source_.images) {
    if (!image.lens.width_px || !image.lens.height_px) return 1;
    Lens lens;
    lens.width_px = static_cast<int>(std::clamp(*image.lens.width_px, 1.0, 65536.0));
    lens.height_px = static_cast<int>(std::clamp(*image.lens.height_px, 1.0, 65536.0));
    most = std::min(most, static_cast<int>(1 / working_scale(lens, options_) + 1e-6));
  }
  return most;
}

// images_4 instead of images if its photos are large enough and complete: they decode faster.
fs::path ViewBuilder::shrunk_folder(const fs::path& folder) const {
  if (folder.filename() != "images" || source_.images.empty()) return folder;
  for (int factor = most_shrinking(); factor > 1; --factor) {
    const fs::path shrunk = folder.parent_path() / fmt::format("images_{}", factor);
    if (is_folder(source_.base / shrunk) &&
        count_found(ImageFinder(source_.base / shrunk)) == source_.images.size())
      return shrunk;
  }
  return folder;
}

std::optional<fs::path> ViewBuilder::find(const fs::path& name) {
  if (finder_.has(name)) return finder_.folder() / name;
  for (const char* extension : {".png", ".jpg", ".jpeg"})  // NeRF synthetic omits the extension
    if (finder_.has(name.string() + extension)) return finder_.folder() / (name.string() + extension);
  return finder_.find(name);
}

void ViewBuilder::add_found(const SourceImage& image, const fs::path& name, const fs::path& path) {
  const ImageInfo stored = load_image_info(path), turned = upright(stored);
  try {
    const Lens lens = resolve_lens(image.lens, turned.width_px, turned.height_px);
    if (is_ambiguous(stored, lens, image.lens))
      return turned_.add(fmt::format("{} (orientation {})", image.name, stored.orientation));
    if (!has_shape_of(lens, turned.width_px, turned.height_px))
      return misshapen_.add(fmt::format("{} ({}x{} pixels, but {} is {}x{})", image.name, turned.width_px,
                                        turned.height_px, image.camera, lens.width_px, lens.height_px));
    add_view(image, name, path, lens, turned);
  } catch (const Error& error) {  // from the lens, which does not know the image's name
    bad_lenses_.add(fmt::format("{}: {}", image.name, error.what()));
  }
}

void ViewBuilder::add_view(const SourceImage& image, const fs::path& name, const fs::path& path,
                           const Lens& lens, const ImageInfo& upright) {
  SceneView view;
  view.name = name.string();
  view.image_path = path;
  view.mask_path = mask_of(image, name, path);
  view.has_alpha = upright.channel_count == 2 || upright.channel_count == 4;
  const double in_file =
      static_cast<double>(std::max(upright.width_px, upright.height_px)) / longer_side(lens);
  view.camera =
      working_camera(undistorted(lens), lens, std::min(working_scale(lens, options_), in_file), upright);
  view.camera.camera_from_world = image.camera_from_world;
  view.lens = resized(lens, upright.width_px, upright.height_px);
  view.is_test = image.is_test.value_or(false);
  views.push_back(std::move(view));
}

const Camera& ViewBuilder::undistorted(const Lens& lens) {
  if (!(last_lens_ == lens)) {
    last_camera_ = undistorted_camera(lens);
    last_lens_ = lens;
  }
  return last_camera_;
}

fs::path ViewBuilder::mask_of(const SourceImage& image, const fs::path& name, const fs::path& photo) {
  if (!image.mask_name.empty()) {
    const std::optional<fs::path> mask = contained_path(image.mask_name);
    if (mask && is_file(source_.base / *mask)) return source_.base / *mask;
    masks_missing_.add(fmt::format("{} ({})", image.name, image.mask_name));
    return {};
  }
  // In transforms.json, image names include the image folder.
  const fs::path below = *name.begin() == "images" ? name.lexically_relative("images") : name;
  // If the scene was given as scene/sparse/0, its masks are beside the folder of its photos. The file of the
  // photo may have another extension than its name.
  for (const fs::path& folder : {source_.base, finder_.folder().parent_path()})
    for (const fs::path& called : {below, below.parent_path() / photo.filename()})
      if (fs::path mask = find_mask(folder, called); !mask.empty()) return mask;
  return {};
}

}  // namespace stipple
