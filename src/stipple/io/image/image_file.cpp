// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/image/image_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/image/shrink.h"
#include "stipple/io/image/image_codec.h"
#include "stipple/io/image/orientation.h"
#include "stipple/io/input_file.h"
#include "stipple/io/output_file.h"

namespace stipple {

namespace {

constexpr std::uint64_t kMaxPixelCount = std::uint64_t{1} << 28;  // 268 megapixels: 4 GiB as RGBA floats
constexpr std::uint64_t kMaxSidePx = std::uint64_t{1} << 16;      // of a camera, too
constexpr std::size_t kHeaderBytes = std::size_t{1} << 16;        // enough for most headers

constexpr std::array<unsigned char, 3> kJpegSignature = {0xff, 0xd8, 0xff};
constexpr std::array<unsigned char, 8> kPngSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};

bool starts_with(std::span<const std::byte> file, std::span<const unsigned char> signature) {
  if (file.size() < signature.size()) return false;
  const auto same = [](unsigned char a, std::byte b) { return std::byte{a} == b; };
  return std::equal(signature.begin(), signature.end(), file.begin(), same);
}

// Looks at the first bytes only, so that a large file of another type is not read.
bool is_jpeg(InputFile& input) {
  const std::span<const std::byte> start = input.peek(kPngSignature.size());
  if (starts_with(start, kJpegSignature)) return true;
  if (starts_with(start, kPngSignature)) return false;
  throw Error(fmt::format("{}: neither a JPEG nor a PNG image", input.name()));
}

DecodedImage decode(const std::filesystem::path& path, int min_width_px, int min_height_px) {
  InputFile input(path);
  const bool jpeg = is_jpeg(input);
  const std::span<const std::byte> file = input.take_rest();
  if (jpeg) return decode_jpeg(file, min_width_px, min_height_px, input.name());
  return decode_png(file, input.name());
}

std::uint16_t sample_16(const DecodedImage& decoded, std::size_t i) {
  std::uint16_t sample = 0;
  std::memcpy(&sample, decoded.bytes.data() + 2 * i, 2);
  return sample;
}

float value_at(const DecodedImage& decoded, std::size_t i) {
  return decoded.sample_bytes == 2 ? static_cast<float>(sample_16(decoded, i)) / 65535.0f
                                   : static_cast<float>(decoded.bytes[i]) / 255.0f;
}

Image to_values(const DecodedImage& decoded) {
  Image image(decoded.width_px, decoded.height_px, decoded.info.channel_count);
  for (std::size_t i = 0; i < image.values.size(); ++i) image.values[i] = value_at(decoded, i);
  return image;
}

Image to_values(const DecodedImage& decoded, int max_side_px) {
  if (std::max(decoded.width_px, decoded.height_px) <= max_side_px) return to_values(decoded);
  return shrunk_to(ImageSource{decoded.width_px, decoded.height_px, decoded.info.channel_count,
                               [&](std::size_t i) { return value_at(decoded, i); }},
                   max_side_px);
}

ByteImage byte_image_of(DecodedImage decoded) {
  ByteImage image;
  image.width_px = decoded.width_px;
  image.height_px = decoded.height_px;
  image.channel_count = decoded.info.channel_count;
  if (decoded.sample_bytes == 2) {
    for (std::size_t i = 0; i < decoded.bytes.size() / 2; ++i) {
      decoded.bytes[i] = static_cast<std::uint8_t>((sample_16(decoded, i) + 128) / 257);  // 65535 / 255 = 257
    }
    decoded.bytes.resize(decoded.bytes.size() / 2);
  }
  image.values = std::move(decoded.bytes);
  return image;
}

}  // namespace

ImageInfo load_image_info(const std::filesystem::path& path) {
  InputFile input(path, kHeaderBytes);
  const auto read_info = is_jpeg(input) ? read_jpeg_info : read_png_info;
  for (std::size_t count = kHeaderBytes;; count *= 4) {  // previews and colour profiles can take megabytes
    const std::span<const std::byte> start = input.peek(count);
    const std::optional<ImageInfo> info = read_info(start, input.remaining_bytes(), input.name());
    if (info) return *info;
  }
}

Image load_image(const std::filesystem::path& path) {
  const DecodedImage decoded = decode(path, 0, 0);
  return turned_upright(to_values(decoded), decoded.info.orientation);
}

Image load_small_image(const std::filesystem::path& path, int max_side_px) {
  const DecodedImage decoded = decode(path, 0, 0);
  return turned_upright(to_values(decoded, max_side_px), decoded.info.orientation);
}

ByteImage load_byte_image(const std::filesystem::path& path, int min_width_px, int min_height_px) {
  StoredImage stored = load_stored_image(path, min_width_px, min_height_px);
  return turned_upright(std::move(stored.pixels), stored.info.orientation);
}

StoredImage load_stored_image(const std::filesystem::path& path, int min_width_px, int min_height_px) {
  DecodedImage decoded = decode(path, min_width_px, min_height_px);
  StoredImage stored{.info = decoded.info, .pixels = {}, .shrunk_by = decoded.shrunk_by};
  stored.pixels = byte_image_of(std::move(decoded));
  return stored;
}

void save_png(const Image& image, const std::filesystem::path& path) { save_png(to_bytes(image), path); }

void save_png(const ByteImage& image, const std::filesystem::path& path) {
  const std::vector<std::byte> encoded = encode_png(image, path.string());
  OutputFile file(path);
  file.write(encoded);
  file.commit();
}

void check_pixel_count(std::uint64_t width, std::uint64_t height, const std::string& name) {
  if (width * height > kMaxPixelCount)  // no overflow: both have at most 32 bits
    throw Error(
        fmt::format("{}: {} x {} pixels exceed the limit of {}", name, width, height, kMaxPixelCount));
  if (std::max(width, height) > kMaxSidePx)
    throw Error(
        fmt::format("{}: {} x {} pixels exceed the limit of {} per side", name, width, height, kMaxSidePx));
}

}  // namespace stipple
