// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/image_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <span>
#include <utility>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/io/image_codec.h"
#include "stipple/io/input_file.h"
#include "stipple/io/output_file.h"

namespace stipple {

namespace {

constexpr std::uint64_t kMaxPixelCount = std::uint64_t{1} << 28;  // 268 megapixels: 4 GiB as RGBA floats

constexpr std::array<unsigned char, 3> kJpegSignature = {0xff, 0xd8, 0xff};
constexpr std::array<unsigned char, 8> kPngSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

bool starts_with(std::span<const std::byte> file, std::span<const unsigned char> signature) {
  if (file.size() < signature.size()) return false;
  const auto same = [](unsigned char a, std::byte b) { return std::byte{a} == b; };
  return std::equal(signature.begin(), signature.end(), file.begin(), same);
}

}  // namespace

Image load_image(const std::filesystem::path& path) {
  {
    InputFile start(path);  // a look first, so that a large file of another kind is not read
    const std::span<const std::byte> signature = start.take(kPngSignature.size());
    if (!starts_with(signature, kJpegSignature) && !starts_with(signature, kPngSignature))
      throw Error(fmt::format("{}: neither a JPEG nor a PNG image", start.name()));
  }
  InputFile input(path);
  const std::span<const std::byte> file = input.take_rest();
  if (starts_with(file, kJpegSignature)) return decode_jpeg(file, input.name());
  return decode_png(file, input.name());
}

void save_png(const Image& image, const std::filesystem::path& path) {
  const std::vector<std::byte> encoded = encode_png(image, path.string());
  OutputFile file(path);
  file.write(encoded);
  file.commit();
}

void check_pixel_count(std::uint64_t width, std::uint64_t height, const std::string& name) {
  if (width * height <= kMaxPixelCount) return;  // both have at most 32 bits
  throw Error(
      fmt::format("{}: {} x {} pixels are more than the limit of {}", name, width, height, kMaxPixelCount));
}

Image apply_orientation(Image image, int orientation) {
  if (orientation <= 1 || orientation > 8) return image;
  const bool swap_axes = orientation >= 5;
  const bool flip_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool flip_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const int width = image.width_px, height = image.height_px;
  Image upright(swap_axes ? height : width, swap_axes ? width : height, image.channel_count);
  for (int y = 0; y < upright.height_px; ++y) {
    for (int x = 0; x < upright.width_px; ++x) {
      const int stored_x = swap_axes ? y : x, stored_y = swap_axes ? x : y;
      const int from_x = flip_x ? width - 1 - stored_x : stored_x;
      const int from_y = flip_y ? height - 1 - stored_y : stored_y;
      std::copy_n(&image.at(from_x, from_y, 0), image.channel_count, &upright.at(x, y, 0));
    }
  }
  return upright;
}

}  // namespace stipple
