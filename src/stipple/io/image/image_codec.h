// SPDX-License-Identifier: Apache-2.0
#pragma once
// The formats behind image_file.h, from and to memory. `name` is the file's, for messages.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stipple/image/byte_image.h"
#include "stipple/io/image/image_file.h"

namespace stipple {

// The samples of a picture, not turned upright.
struct DecodedImage {
  ImageInfo info;
  int width_px = 0, height_px = 0;  // the stored size over shrunk_by, rounded up
  int shrunk_by = 1;
  int sample_bytes = 1;  // 2: in this machine's byte order
  std::vector<std::uint8_t> bytes = {};
};

// At 1/2, 1/4 or 1/8 where that leaves the minimum, of the upright picture; 0: full size.
DecodedImage decode_jpeg(std::span<const std::byte> file, int min_width_px, int min_height_px,
                         const std::string& name);
DecodedImage decode_png(std::span<const std::byte> file, const std::string& name);
std::vector<std::byte> encode_png(const ByteImage& image, const std::string& name);

// From the start of a file of this size; none when more of it is needed.
std::optional<ImageInfo> read_jpeg_info(std::span<const std::byte> start, std::uint64_t file_bytes,
                                        const std::string& name);
std::optional<ImageInfo> read_png_info(std::span<const std::byte> start, std::uint64_t file_bytes,
                                       const std::string& name);

// An Error for more pixels than a photo has, before anything is allocated for them.
void check_pixel_count(std::uint64_t width, std::uint64_t height, const std::string& name);

// The Exif orientation in the content of a JPEG's APP1 marker, or 1 (upright) when there is none in it.
int exif_orientation(std::span<const std::byte> app1);

// The same of bare Exif data, as a PNG's eXIf chunk has it.
int tiff_orientation(std::span<const std::byte> bytes);

}  // namespace stipple
