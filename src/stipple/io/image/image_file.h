// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// JPEG and PNG files, distinguished by their first bytes. Images keep the channels of the file; a palette
// becomes RGB, and transparency becomes an alpha channel. A damaged file is an Error, never a partial image.
#include <filesystem>

#include "stipple/image/byte_image.h"
#include "stipple/image/image.h"

namespace stipple {

// The header of an image file.
struct ImageInfo {
  int width_px = 0, height_px = 0;  // as stored, not turned upright
  int channel_count = 0;
  int orientation = 1;  // the Exif orientation, 1 (upright) to 8
};

// The pixels as stored in the file.
struct StoredImage {
  ImageInfo info;
  ByteImage pixels;   // not turned upright
  int shrunk_by = 1;  // stored pixels per pixel of `pixels` along each axis; the last one may cover fewer
};

// Reads only the header.
ImageInfo load_image_info(const std::filesystem::path& path);

// Returns values from 0 to 1, turned upright.
Image load_image(const std::filesystem::path& path);

// The same, but shrunk if need be so that neither side is longer than max_side_px, as shrink_to() does. The
// image at its full size is never held as floats.
Image load_small_image(const std::filesystem::path& path, int max_side_px);

// Returns 8 bits per channel, rounded if the file has 16, turned upright. A JPEG is decoded at 1/2, 1/4 or
// 1/8 of its size, which is faster, if the result still has the minimum size; 0 means full size.
ByteImage load_byte_image(const std::filesystem::path& path, int min_width_px = 0, int min_height_px = 0);

// The same, but not turned upright. The minimum still refers to the upright image.
StoredImage load_stored_image(const std::filesystem::path& path, int min_width_px = 0, int min_height_px = 0);

// Writes 8 bits per channel, 1 to 4 channels. Values are clamped to [0, 1] and rounded to nearest; NaN
// becomes 0.
void save_png(const Image& image, const std::filesystem::path& path);
void save_png(const ByteImage& image, const std::filesystem::path& path);

}  // namespace stipple
