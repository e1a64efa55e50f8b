// SPDX-License-Identifier: Apache-2.0
#pragma once
// The formats behind image_file.h, from and to memory. `name` is the file's, for messages.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "stipple/core/image.h"

namespace stipple {

Image decode_jpeg(std::span<const std::byte> file, const std::string& name);
Image decode_png(std::span<const std::byte> file, const std::string& name);
std::vector<std::byte> encode_png(const Image& image, const std::string& name);

// An Error for more pixels than a photo has, before anything is allocated for them.
void check_pixel_count(std::uint64_t width, std::uint64_t height, const std::string& name);

// The image as the camera was held: `orientation` is the Exif tag's value, 1 to 8.
Image apply_orientation(Image image, int orientation);

// The Exif orientation in the content of a JPEG's APP1 marker, or 1 (upright) when there is none in it.
int exif_orientation(std::span<const std::byte> app1);

}  // namespace stipple
