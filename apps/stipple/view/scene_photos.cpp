// SPDX-License-Identifier: Apache-2.0
#include "apps/stipple/view/scene_photos.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "apps/stipple/view/path_number.h"
#include "stipple/evaluate/evaluate.h"
#include "stipple/image/area_scale.h"
#include "stipple/image/shrink.h"
#include "stipple/io/image/image_codec.h"
#include "stipple/photo/load_photo.h"

namespace stipple {

namespace {

constexpr std::size_t kMostCachedBytes = std::size_t{64} << 20;  // of encoded photos: a few hundred
constexpr int kSmallest = 16, kLargest = 65'500;  // pixels along a side; the latter is JPEG's limit
constexpr JpegOptions kQuality{.quality = 92, .full_color = true};

ByteImage picture_of(const Photo& photo, Vec3f background) {
  if (!photo.alpha.empty()) return to_bytes(image_of(photo, background));
  ByteImage picture;
  picture.width_px = photo.width_px;
  picture.height_px = photo.height_px;
  picture.channel_count = 3;
  picture.values = photo.rgb;
  return picture;
}

std::vector<std::byte> encoded(ByteImage picture, int size_px) {
  const int longest = std::max(picture.width_px, picture.height_px);
  if (longest > size_px) {
    const int width = shrunk_side(picture.width_px, longest, size_px);
    const int height = shrunk_side(picture.height_px, longest, size_px);
    picture = area_scaled(std::move(picture), width, height);
  }
  return encode_jpeg(picture, kQuality);
}

}  // namespace

ScenePhotos::ScenePhotos(std::vector<SceneView> views, Vec3f background)
    : views_(std::move(views)),
      background_(background),
      photos_(kMostCachedBytes, [](const std::vector<std::byte>& photo) { return photo.size(); }) {}

std::vector<ViewInfo> ScenePhotos::infos() const {
  std::vector<ViewInfo> infos;
  for (const SceneView& view : views_)
    infos.push_back({view.name, view.is_test, view.camera, fmt::format("photo/{}", infos.size())});
  return infos;
}

HttpResponse ScenePhotos::respond(const HttpRequest& request) {
  const std::optional<std::size_t> view = path_number(request.path, "/photo/");
  if (!view || *view >= views_.size()) return text_response(404, "there is no such photo");
  const std::string given = request.parameter("size");
  const std::optional<std::size_t> size = path_number(given, "");
  if (!given.empty() && !size) return text_response(400, "size must be a number of pixels");
  const int size_px = static_cast<int>(std::clamp<std::size_t>(size.value_or(kLargest), kSmallest, kLargest));
  SharedBytes photo = photos_.get({*view, size_px}, [&] {
    return std::make_shared<const std::vector<std::byte>>(
        encoded(picture_of(load_photo(views_[*view]), background_), size_px));
  });
  return {.content_type = "image/jpeg", .body = std::move(photo), .is_constant = true};
}

}  // namespace stipple
