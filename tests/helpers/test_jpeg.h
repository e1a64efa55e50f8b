// SPDX-License-Identifier: Apache-2.0
#pragma once
// Encodes JPEG files for tests.
// clang-format off
#include <cstdio>  // must precede jpeglib.h
#include <jpeglib.h>
// clang-format on
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

namespace stipple {

struct Jpeg {
  int width = 0, height = 0;
  J_COLOR_SPACE color_space = JCS_RGB;
  int channels = 3;
  bool progressive = false;
  std::vector<jpeg_scan_info> scans = {};  // if not empty, those of a progressive file
  std::string app1 = {};
  std::vector<unsigned char> samples = {};

  std::string encode() const {
    jpeg_compress_struct jpeg{};
    jpeg_error_mgr errors{};
    jpeg.err = jpeg_std_error(&errors);
    jpeg_create_compress(&jpeg);
    unsigned char* memory = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&jpeg, &memory, &size);
    jpeg.image_width = static_cast<JDIMENSION>(width);
    jpeg.image_height = static_cast<JDIMENSION>(height);
    jpeg.input_components = channels;
    jpeg.in_color_space = color_space;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 100, TRUE);
    jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
    if (progressive) jpeg_simple_progression(&jpeg);
    if (!scans.empty()) {
      jpeg.scan_info = scans.data();
      jpeg.num_scans = static_cast<int>(scans.size());
    }
    jpeg_start_compress(&jpeg, TRUE);
    if (!app1.empty()) {
      jpeg_write_marker(&jpeg, JPEG_APP0 + 1, reinterpret_cast<const JOCTET*>(app1.data()),
                        static_cast<unsigned>(app1.size()));
    }
    while (jpeg.next_scanline < jpeg.image_height) {
      const std::size_t begin = std::size_t{jpeg.next_scanline} * width * channels;
      std::vector<unsigned char> row(samples.begin() + static_cast<std::ptrdiff_t>(begin),
                                     samples.begin() + static_cast<std::ptrdiff_t>(begin) + width * channels);
      JSAMPROW pointer = row.data();
      jpeg_write_scanlines(&jpeg, &pointer, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    std::string bytes(reinterpret_cast<char*>(memory), size);
    std::free(memory);
    return bytes;
  }
};

// An image of uniformly coloured 8 x 8 blocks, which JPEG preserves almost exactly; the blocks differ in
// colour.
inline Jpeg blocks(int columns, int rows, int channels) {
  Jpeg jpeg{.width = 8 * columns, .height = 8 * rows, .channels = channels};
  jpeg.color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  for (int y = 0; y < jpeg.height; ++y) {
    for (int x = 0; x < jpeg.width; ++x) {
      const int block = y / 8 * columns + x / 8;
      for (int c = 0; c < channels; ++c) {
        jpeg.samples.push_back(static_cast<unsigned char>((40 + 30 * block + 50 * c) % 256));
      }
    }
  }
  return jpeg;
}

// Returns Exif data with an orientation, as cameras store them in APP1.
inline std::string exif(int orientation, bool big_endian) {
  const auto number = [&](unsigned value, int size) {
    std::string bytes;
    for (int i = 0; i < size; ++i)
      bytes += static_cast<char>(value >> 8 * (big_endian ? size - 1 - i : i) & 0xff);
    return bytes;
  };
  const std::string other = number(0x010f, 2) + number(2, 2) + number(4, 4) + number(0x41424300, 4);
  const std::string entry = number(0x0112, 2) + number(3, 2) + number(1, 4) +
                            number(static_cast<unsigned>(orientation), 2) + number(0, 2);
  return std::string("Exif\0\0", 6) + (big_endian ? "MM" : "II") + number(42, 2) + number(8, 4) +
         number(2, 2) + other + entry + number(0, 4);
}

// A smooth image, which looks alike at every size.
inline Jpeg waves(int width, int height, int channels = 3) {
  Jpeg jpeg{.width = width, .height = height, .channels = channels};
  jpeg.color_space = channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        const double wave = std::sin(0.05 * x + c) * std::cos(0.07 * y - c);
        jpeg.samples.push_back(static_cast<unsigned char>(128 + 100 * wave));
      }
    }
  }
  return jpeg;
}

}  // namespace stipple
