// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// Images as NumPy .npy arrays, which keep every bit of every value: for comparisons and for depth maps.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#include <filesystem>

#include "stipple/image/image.h"

namespace stipple {

// Reads a float32, float64 or uint8 array of shape (height, width) or (height, width, 1 to 4). Values are not
// rescaled: a uint8 of 255 becomes 255, not 1.
Image load_npy(const std::filesystem::path& path);

// Writes little-endian float32 of shape (height, width, channels), or (height, width) for a single channel.
void save_npy(const Image& image, const std::filesystem::path& path);

}  // namespace stipple
