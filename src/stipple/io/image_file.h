// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "stipple/core/image.h"

namespace stipple {

// Reads a JPEG or a PNG, told apart by their first bytes, into values from 0 to 1. Channels are as in the
// file (a palette becomes RGB, transparency a channel of its own); the orientation a camera noted in a JPEG
// is applied. A damaged file is an Error, never half a picture.
Image load_image(const std::filesystem::path& path);

// Writes 8 bits per channel, 1 to 4 channels: clamped to [0, 1], rounded to the nearest; what is not a number
// is 0.
void save_png(const Image& image, const std::filesystem::path& path);

}  // namespace stipple
