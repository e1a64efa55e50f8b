// SPDX-License-Identifier: Apache-2.0
#pragma once
// JPEG and PNG files, told apart by their first bytes. Channels are as in the file (a palette becomes RGB,
// transparency a channel of its own). A damaged file is an Error, never half a picture.
#include <filesystem>

#include "stipple/image/byte_image.h"
#include "stipple/image/image.h"

namespace stipple {

// What a file says about its picture.
struct ImageInfo {
  int width_px = 0, height_px = 0;  // as stored, before it is turned upright
  int channel_count = 0;
  int orientation = 1;  // how the camera was held, as Exif numbers it: 1 upright, to 8
};

// A picture as its file stores it.
struct StoredImage {
  ImageInfo info;
  ByteImage pixels;   // not turned upright
  int shrunk_by = 1;  // so many stored pixels, along each axis, make one of `pixels`; the last may be cut
};

// Only the header is read.
ImageInfo load_image_info(const std::filesystem::path& path);

// Values from 0 to 1, turned upright.
Image load_image(const std::filesystem::path& path);

// 8 bits a channel, rounded where the file has 16, turned upright. A JPEG is decoded at 1/2, 1/4 or 1/8 of
// its size, which is faster, where that is still no smaller than the minimum; 0: at full size.
ByteImage load_byte_image(const std::filesystem::path& path, int min_width_px = 0, int min_height_px = 0);

// The same before it is turned; the minimum is the upright picture's all the same.
StoredImage load_stored_image(const std::filesystem::path& path, int min_width_px = 0, int min_height_px = 0);

// Writes 8 bits per channel, 1 to 4 channels. Values are clamped to [0, 1] and rounded to the nearest; what
// is not a number is 0.
void save_png(const Image& image, const std::filesystem::path& path);
void save_png(const ByteImage& image, const std::filesystem::path& path);

}  // namespace stipple
