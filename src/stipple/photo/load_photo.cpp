// SPDX-License-Identifier: Apache-2.0
#include "stipple/photo/load_photo.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <utility>

#include "stipple/core/error.h"
#include "stipple/image/area_scale.h"
#include "stipple/io/image/image_file.h"
#include "stipple/io/image/orientation.h"
#include "stipple/photo/undistort.h"
#include "stipple/scene/scene.h"

namespace stipple {

namespace {

struct Size {
  int width_px, height_px;
};

// Converts a stored size to an upright one and back: swaps the sides if the orientation swaps the axes.
Size turned(Size size, int orientation) {
  return swaps_axes(orientation) ? Size{size.height_px, size.width_px} : size;
}

// Tolerates 2 %: sides may have been rounded, or cropped by a few pixels.
bool have_same_shape(Size a, Size b) {
  const std::int64_t ab = std::int64_t{a.width_px} * b.height_px, ba = std::int64_t{b.width_px} * a.height_px;
  return 50 * std::abs(ab - ba) <= std::max(ab, ba);
}

void check_shape(const SceneView& view, Size photo) {
  if (have_same_shape(photo, {view.lens.width_px, view.lens.height_px})) return;
  throw Error(fmt::format(
      "{}: the photo has {} x {} pixels but its camera has {} x {}; use the photos that the cameras were "
      "estimated from",
      view.image_path.string(), photo.width_px, photo.height_px, view.lens.width_px, view.lens.height_px));
}

// The size at which the pixels of the photo, still distorted, are as large as the camera's.
Size working_size(const Lens& lens, const Camera& camera) {
  if (lens.is_pinhole()) return {camera.width_px, camera.height_px};
  const auto scaled = [](int side_px, double to_focal_px, double focal_px) {
    return std::max(1, static_cast<int>(std::lround(side_px * to_focal_px / focal_px)));
  };
  return {scaled(lens.width_px, camera.focal_px.x, lens.focal_px.x),
          scaled(lens.height_px, camera.focal_px.y, lens.focal_px.y)};
}

std::uint8_t product(int a, int b) {  // of fractions of 255
  return static_cast<std::uint8_t>((a * b + 127) / 255);
}

bool has_transparency(const ByteImage& image) {
  if (!image.has_alpha()) return false;
  const std::size_t channels = static_cast<std::size_t>(image.channel_count);
  for (std::size_t i = channels - 1; i < image.values.size(); i += channels) {
    if (image.values[i] != 255) return true;
  }
  return false;
}

// Converts to RGB, with a weight as fourth channel if alpha is used as one.
ByteImage to_weighted_rgb(ByteImage image, AlphaUse use) {
  if (image.channel_count == 3) return image;
  const bool transparent = has_transparency(image);
  const bool keep_weight = transparent && use == AlphaUse::kWeight;
  const bool composite = transparent && !keep_weight;
  const std::size_t channels = static_cast<std::size_t>(image.channel_count);
  ByteImage rgb(image.width_px, image.height_px, keep_weight ? 4 : 3);
  auto to = rgb.values.begin();
  for (std::size_t i = 0; i < image.values.size(); i += channels) {
    const int alpha = image.values[i + channels - 1];
    const int background = use == AlphaUse::kWhite ? 255 - alpha : 0;
    for (std::size_t c = 0; c < 3; ++c) {
      const std::uint8_t color = image.values[i + (channels < 3 ? 0 : c)];
      *to++ = composite ? static_cast<std::uint8_t>(product(color, alpha) + background) : color;
    }
    if (keep_weight) *to++ = static_cast<std::uint8_t>(alpha);
  }
  return rgb;
}

ByteImage channel_of(const ByteImage& image, int channel) {
  ByteImage one(image.width_px, image.height_px, 1);
  for (std::size_t i = 0; i < one.values.size(); ++i)
    one.values[i] = image.values[static_cast<std::size_t>(image.channel_count) * i + channel];
  return one;
}

// One channel, white where the photo counts: the mask's alpha if it has transparency, else its brightness.
ByteImage load_mask(const std::filesystem::path& path) {
  const ByteImage image = load_byte_image(path);
  const bool use_alpha = has_transparency(image);
  const int channels = image.channel_count, colors = image.has_alpha() ? channels - 1 : channels;
  ByteImage mask(image.width_px, image.height_px, 1);
  for (std::size_t i = 0; i < mask.values.size(); ++i) {
    const std::uint8_t* pixel = &image.values[i * static_cast<std::size_t>(channels)];
    int sum = 0;
    for (int c = 0; c < colors; ++c) sum += pixel[c];
    mask.values[i] = use_alpha ? pixel[channels - 1] : static_cast<std::uint8_t>((sum + colors / 2) / colors);
  }
  return mask;
}

// The view's mask, with the size and orientation of the stored image.
ByteImage load_mask_for(const SceneView& view, const StoredImage& stored) {
  ByteImage mask = load_mask(view.mask_path);
  const int orientation = stored.info.orientation;
  const Size photo = turned({stored.info.width_px, stored.info.height_px}, orientation);
  if (!have_same_shape({mask.width_px, mask.height_px}, photo)) {
    throw Error(fmt::format(
        "{}: the mask has {} x {} pixels but its photo {} has {} x {}; both must have the same aspect ratio",
        view.mask_path.string(), mask.width_px, mask.height_px, view.name, photo.width_px, photo.height_px));
  }
  const Size size = turned({stored.pixels.width_px, stored.pixels.height_px}, orientation);
  mask = area_scaled(std::move(mask), size.width_px, size.height_px);
  return turned_upright(std::move(mask), inverse_orientation(orientation));
}

// RGB, or one channel three times, with the mask as fourth channel; a fourth channel of the image is
// multiplied.
ByteImage masked(const ByteImage& image, const ByteImage& mask) {
  const std::size_t channels = static_cast<std::size_t>(image.channel_count);
  ByteImage result(image.width_px, image.height_px, 4);
  for (std::size_t i = 0; i < image.pixel_count(); ++i) {
    const std::uint8_t* from = &image.values[channels * i];
    for (std::size_t c = 0; c < 3; ++c) result.values[4 * i + c] = from[channels < 3 ? 0 : c];
    result.values[4 * i + 3] = product(channels == 4 ? from[3] : 255, mask.values[i]);
  }
  return result;
}

Photo to_photo(ByteImage image) {
  Photo photo{.width_px = image.width_px, .height_px = image.height_px, .rgb = {}, .weight = {}};
  if (image.channel_count == 3) {
    photo.rgb = std::move(image.values);
    return photo;
  }
  const bool weighted = has_transparency(image);  // otherwise every pixel counts fully
  photo.rgb.resize(3 * image.pixel_count());
  photo.weight.resize(weighted ? image.pixel_count() : 0);
  for (std::size_t i = 0; i < image.pixel_count(); ++i) {
    std::copy_n(&image.values[4 * i], 3, &photo.rgb[3 * i]);
    if (weighted) photo.weight[i] = image.values[4 * i + 3];
  }
  return photo;
}

}  // namespace

Photo load_photo(const SceneView& view) {
  Size size = working_size(view.lens, view.camera);
  StoredImage stored = load_stored_image(view.image_path, size.width_px, size.height_px);
  const ImageInfo& info = stored.info;
  check_shape(view, turned({info.width_px, info.height_px}, info.orientation));

  // An object is blended over black here, and its alpha is kept beside it, to blend it over any background.
  const bool is_object = view.alpha == AlphaUse::kObject;
  ByteImage alpha;
  if (is_object && has_transparency(stored.pixels))
    alpha = channel_of(stored.pixels, stored.pixels.channel_count - 1);
  stored.pixels = to_weighted_rgb(std::move(stored.pixels), view.alpha);
  if (!view.mask_path.empty()) {
    const ByteImage mask = load_mask_for(view, stored);
    stored.pixels = masked(stored.pixels, mask);
    alpha = masked(alpha, mask);
  }
  const Extent extent{.width_px = info.width_px, .height_px = info.height_px, .shrunk_by = stored.shrunk_by};
  size = turned(size, info.orientation);
  const auto finished = [&](ByteImage image) {  // scaling first leaves fewer pixels to turn
    image = area_scaled(std::move(image), extent, size.width_px, size.height_px);
    return turned_upright(std::move(image), info.orientation);
  };
  Photo photo = to_photo(finished(std::move(stored.pixels)));
  if (!alpha.values.empty()) photo.alpha = channel_of(finished(std::move(alpha)), 0).values;
  if (view.lens.is_pinhole()) return photo;
  return undistort(photo, resized(view.lens, photo.width_px, photo.height_px), view.camera);
}

}  // namespace stipple
