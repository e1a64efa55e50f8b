// SPDX-License-Identifier: Apache-2.0
#pragma once
// Decoders and encoders in memory for image_file.h. `name` is the file name, for error messages.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stipple/image/byte_image.h"
#include "stipple/io/image/image_file.h"

namespace stipple {

// The samples of an image as stored, not turned upright.
struct DecodedImage {
  ImageInfo info;
  int width_px = 0, height_px = 0;  // the stored size divided by shrunk_by, rounded up
  int shrunk_by = 1;
  int sample_bytes = 1;  // 1, or 2 in native byte order
  std::vector<std::uint8_t> bytes = {};
};

// Decodes at 1/2, 1/4 or 1/8 of the size if the upright image still has the minimum size; 0 means full size.
DecodedImage decode_jpeg(std::span<const std::byte> file, int min_width_px, int min_height_px,
                         const std::string& name);
DecodedImage decode_png(std::span<const std::byte> file, const std::string& name);
std::vector<std::byte> encode_png(const ByteImage& image, const std::string& name);

struct JpegOptions {
  int quality = 90;        // 1 to 100, as libjpeg counts
  bool full_color = true;  // or colours, but not brightness, at half the resolution: half the time and bytes
};
// Grey or RGB. Throws Error if the image is too large for a JPEG (65,500 pixels along a side).
std::vector<std::byte> encode_jpeg(const ByteImage& image, const JpegOptions& options = {});

// Reads the header from the start of a file of `file_bytes`. Returns nullopt if `start` is too short.
std::optional<ImageInfo> read_jpeg_info(std::span<const std::byte> start, std::uint64_t file_bytes,
                                        const std::string& name);
std::optional<ImageInfo> read_png_info(std::span<const std::byte> start, std::uint64_t file_bytes,
                                       const std::string& name);

// Throws an Error for more pixels than any photo has, in all or along a side. Call it before allocating
// memory for them.
void check_pixel_count(std::uint64_t width, std::uint64_t height, const std::string& name);

// Returns the Exif orientation in the content of a JPEG APP1 marker, or 1 (upright) if it has none.
int exif_orientation(std::span<const std::byte> app1);

// The same for Exif data without the JPEG signature, as in the eXIf chunk of a PNG.
int tiff_orientation(std::span<const std::byte> bytes);

}  // namespace stipple
