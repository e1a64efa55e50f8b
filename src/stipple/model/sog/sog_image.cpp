// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/sog/sog_image.h"

#include <fmt/format.h>
#include <webp/decode.h>
#include <webp/encode.h>

#include <memory>
#include <new>

#include "stipple/core/error.h"

namespace stipple {

namespace {

// The images of a trained model of 70,000 Gaussians of degree 3 get 1.2 % larger than with the highest method
// and effort (6 and 100), in 0.15 s of CPU time instead of 31 s. Methods 3 to 6 with this effort gain 0.1 %.
constexpr int kMethod = 2;     // of 6
constexpr float kEffort = 20;  // of 100

int append(const std::uint8_t* data, std::size_t size, const WebPPicture* picture) {
  auto& bytes = *static_cast<std::vector<std::byte>*>(picture->custom_ptr);
  try {
    const auto* from = reinterpret_cast<const std::byte*>(data);
    bytes.insert(bytes.end(), from, from + size);
    return 1;
  } catch (const std::bad_alloc&) {
    return 0;  // exceptions must not pass through libwebp, which was compiled as C
  }
}

}  // namespace

SogImage::SogImage(int width_, int height_)
    : width(width_),
      height(height_),
      rgba(static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_) * 4) {}

std::vector<std::byte> encode_webp(const SogImage& image) {
  WebPConfig config;
  WebPPicture picture;
  if (!WebPConfigInit(&config) || !WebPPictureInit(&picture))
    throw Error("the WebP library does not fit its headers; install libwebp again");
  config.lossless = 1;
  config.exact = 1;  // keep the colours where alpha is 0
  config.method = kMethod;
  config.quality = kEffort;
  picture.use_argb = 1;
  picture.width = image.width;
  picture.height = image.height;
  std::vector<std::byte> bytes;
  picture.writer = append;
  picture.custom_ptr = &bytes;
  const std::unique_ptr<WebPPicture, decltype(&WebPPictureFree)> owner(&picture, WebPPictureFree);
  if (!WebPPictureImportRGBA(&picture, image.rgba.data(), 4 * image.width) || !WebPEncode(&config, &picture))
    throw std::bad_alloc();  // with valid options, nothing else fails
  return bytes;
}

SogImage decode_webp(std::span<const std::byte> bytes, const std::string& name, const SizeCheck& check) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, bytes.size(), &features) != VP8_STATUS_OK || features.has_animation)
    throw Error(fmt::format("{}: this is not a WebP image; the file is damaged", name));
  const std::size_t texels =
      static_cast<std::size_t>(features.width) * static_cast<std::size_t>(features.height);
  if (texels < check.min_texels || texels > check.max_texels ||
      (check.width != 0 && features.width != check.width))
    throw Error(fmt::format("{}: the size {}x{} does not fit the model; the file is damaged", name,
                            features.width, features.height));
  SogImage image(features.width, features.height);
  if (!WebPDecodeRGBAInto(data, bytes.size(), image.rgba.data(), image.rgba.size(), 4 * image.width))
    throw Error(fmt::format("{}: the image is truncated or damaged", name));
  return image;
}

}  // namespace stipple
