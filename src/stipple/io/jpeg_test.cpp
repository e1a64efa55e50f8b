// SPDX-License-Identifier: Apache-2.0
// JPEG files through load_image(), and their Exif orientation.
// clang-format off
#include <cstdio>  // jpeglib.h needs it first
#include <jpeglib.h>
// clang-format on
#include <cstdlib>
#include <utility>
#include <vector>

#include "stipple/io/image_codec.h"
#include "stipple/io/image_file.h"
#include "stipple/io/test_folder.h"

namespace stipple {
namespace {

struct Jpeg {
  int width = 0, height = 0;
  J_COLOR_SPACE color_space = JCS_RGB;
  int channels = 3;
  bool progressive = false;
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

// 8 x 8 blocks of one colour each, which JPEG keeps nearly exactly; every block has its own.
Jpeg blocks(int columns, int rows, int channels) {
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

// Exif data with an orientation, as a camera puts it into APP1.
std::string exif(int orientation, bool big_endian) {
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

Image load_bytes(std::string_view content) {
  TestFolder folder;
  return load_image(folder.write("photo", content));
}

std::string complaint(std::string_view content) {
  TestFolder folder;
  const std::filesystem::path path = folder.write("photo", content);
  const std::string message = error_of([&] { load_image(path); });
  const std::string prefix = path.string() + ": ";
  EXPECT_TRUE(message.starts_with(prefix)) << message;
  return message.substr(std::min(prefix.size(), message.size()));
}

TEST(Jpeg, ReadsGreyAndColour) {
  for (const int channels : {1, 3}) {
    for (const bool progressive : {false, true}) {
      Jpeg jpeg = blocks(3, 2, channels);
      jpeg.progressive = progressive;
      const Image image = load_bytes(jpeg.encode());
      EXPECT_EQ(image.width_px, 24);
      EXPECT_EQ(image.height_px, 16);
      ASSERT_EQ(image.channel_count, channels);
      for (std::size_t i = 0; i < image.values.size(); ++i) {
        EXPECT_NEAR(image.values[i], static_cast<float>(jpeg.samples[i]) / 255.0f, 0.02f);
      }
    }
  }
}

TEST(Jpeg, RefusesCmyk) {
  Jpeg jpeg{.width = 8, .height = 8, .color_space = JCS_CMYK, .channels = 4};
  jpeg.samples.resize(256);
  EXPECT_EQ(complaint(jpeg.encode()), "a CMYK picture, made for printing; RGB or grey is needed");
}

// Where a stored pixel is shown: the Exif standard says which sides of the picture are the first row and
// column.
std::pair<int, int> shown_at(int orientation, int x, int y, int width, int height) {
  switch (orientation) {
    case 2:
      return {width - 1 - x, y};  // first row at the top, first column at the right
    case 3:
      return {width - 1 - x, height - 1 - y};  // bottom, right
    case 4:
      return {x, height - 1 - y};  // bottom, left
    case 5:
      return {y, x};  // left, top
    case 6:
      return {height - 1 - y, x};  // right, top
    case 7:
      return {height - 1 - y, width - 1 - x};  // right, bottom
    case 8:
      return {y, width - 1 - x};  // left, bottom
    default:
      return {x, y};
  }
}

TEST(Jpeg, IsShownUpright) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big_endian : {false, true}) {
      Jpeg jpeg = blocks(3, 2, 3);
      jpeg.app1 = exif(orientation, big_endian);
      const Image image = load_bytes(jpeg.encode());
      ASSERT_EQ(image.width_px, orientation >= 5 ? 16 : 24);
      ASSERT_EQ(image.height_px, orientation >= 5 ? 24 : 16);
      for (int y = 0; y < 16; ++y) {
        for (int x = 0; x < 24; ++x) {
          const auto [shown_x, shown_y] = shown_at(orientation, x, y, 24, 16);
          const float expected =
              static_cast<float>(jpeg.samples[3u * static_cast<unsigned>(24 * y + x)]) / 255.0f;
          EXPECT_NEAR(image.at(shown_x, shown_y, 0), expected, 0.03f) << orientation;
        }
      }
    }
  }
}

TEST(Jpeg, OddExifIsUpright) {
  const auto orientation = [](const std::string& app1) {
    return exif_orientation(std::as_bytes(std::span(app1)));
  };
  for (const bool big_endian : {false, true}) {
    const std::string whole = exif(6, big_endian);
    EXPECT_EQ(orientation(whole), 6);
    EXPECT_EQ(orientation(exif(0, big_endian)), 1);
    EXPECT_EQ(orientation(exif(9, big_endian)), 1);
    EXPECT_EQ(orientation(exif(0x0600, big_endian)), 1);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const int found = orientation(whole.substr(0, length));
      EXPECT_EQ(found, length < whole.size() - 6 ? 1 : 6);  // the value lies 6 bytes before the end
    }
    std::mt19937 random(4);
    for (int i = 0; i < 5000; ++i) {
      std::string altered = whole;
      altered[6 + random() % (altered.size() - 6)] = static_cast<char>(random());
      const int found = orientation(altered);
      EXPECT_TRUE(1 <= found && found <= 8);
    }
  }
  EXPECT_EQ(orientation("http://ns.adobe.com/xap/1.0/ and so on"), 1);
}

TEST(Jpeg, BrokenFilesAreErrors) {
  TestFolder folder;
  for (const bool progressive : {false, true}) {
    Jpeg jpeg = blocks(2, 1, 3);
    jpeg.progressive = progressive;
    jpeg.app1 = exif(6, false);
    const std::string whole = jpeg.encode();
    expect_every_cut_fails(folder, "a.jpg", whole, load_image);
    expect_flips_are_survived(folder, "a.jpg", whole, 1500, load_image);
    EXPECT_EQ(complaint(whole.substr(0, whole.size() - 2)), "Premature end of JPEG file");
  }
}

TEST(Jpeg, BelievesTheFileNotTheHeader) {
  std::string file = blocks(2, 1, 3).encode();
  const std::size_t frame = file.find("\xff\xc0");  // marker, length, precision, then height and width
  ASSERT_NE(frame, std::string::npos);
  file.replace(frame + 5, 4, std::string("\xff\0\xff\0", 4));
  EXPECT_EQ(complaint(file), "65280 x 65280 pixels are more than the limit of 268435456");
  file.replace(frame + 5, 4, "\x3f\xff\x3f\xff");
  EXPECT_EQ(complaint(file), "file is too short for 16383 x 16383 pixels");
}

}  // namespace
}  // namespace stipple
