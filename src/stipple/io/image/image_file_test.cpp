// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/image/image_file.h"

#include <png.h>
#include <zlib.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/helpers/load_image_bytes.h"
#include "tests/helpers/peak_memory.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_jpeg.h"

namespace stipple {
namespace {

// A PNG to be written by libpng. Errors in the use of libpng here abort the program.
struct Png {
  png_uint_32 width = 0, height = 0;
  int bit_depth = 8;
  int color_type = PNG_COLOR_TYPE_GRAY;
  int interlace = PNG_INTERLACE_NONE;
  std::vector<png_color> palette = {};
  std::vector<png_byte> palette_alpha = {};
  int transparent_grey = -1;
  std::string exif = {};
  bool exif_at_end = false;
  bool header_only = false;            // omits the pixels except for the start of their chunk
  std::vector<unsigned> samples = {};  // channels interleaved

  std::string encode() const {
    std::string bytes;
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png);
    png_set_write_fn(
        png, &bytes,
        [](png_structp p, png_bytep data, std::size_t count) {
          static_cast<std::string*>(png_get_io_ptr(p))->append(reinterpret_cast<char*>(data), count);
        },
        [](png_structp) {});
    png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
    png_set_IHDR(png, info, width, height, bit_depth, color_type, interlace, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
    png_color_16 transparent{};
    transparent.gray = static_cast<png_uint_16>(transparent_grey);
    if (!palette_alpha.empty()) {
      png_set_tRNS(png, info, palette_alpha.data(), static_cast<int>(palette_alpha.size()), nullptr);
    } else if (transparent_grey >= 0) {
      png_set_tRNS(png, info, nullptr, 0, &transparent);
    }
    png_write_info(png, info);
    const auto write_exif = [&] {
      png_write_chunk(png, reinterpret_cast<png_const_bytep>("eXIf"),
                      reinterpret_cast<png_const_bytep>(exif.data()), exif.size());
    };
    if (!exif.empty() && !exif_at_end) write_exif();
    if (!header_only) {
      std::vector<std::vector<png_byte>> rows = packed_rows();
      std::vector<png_bytep> pointers;
      for (std::vector<png_byte>& row : rows) pointers.push_back(row.data());
      png_write_image(png, pointers.data());
      if (exif_at_end) write_exif();
      png_write_end(png, info);
    }
    png_destroy_write_struct(&png, &info);
    if (header_only) bytes += std::string("\0\0\0\x10IDAT", 8);
    return bytes;
  }

  // Rows as stored in a PNG: most significant bit and byte first.
  std::vector<std::vector<png_byte>> packed_rows() const {
    const std::size_t per_row = samples.size() / height;
    std::vector<std::vector<png_byte>> rows(height);
    for (std::size_t y = 0; y < height; ++y) {
      rows[y].resize((per_row * bit_depth + 7) / 8);
      for (std::size_t i = 0; i < per_row * bit_depth; ++i) {
        const unsigned sample = samples[y * per_row + i / bit_depth];
        const unsigned bit = sample >> (bit_depth - 1 - static_cast<int>(i % bit_depth)) & 1;
        rows[y][i / 8] = static_cast<png_byte>(rows[y][i / 8] | bit << (7 - i % 8));
      }
    }
    return rows;
  }
};

void expect_values(const Image& image, int channels, const std::vector<float>& expected) {
  EXPECT_EQ(image.channel_count, channels);
  ASSERT_EQ(image.values.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(image.values[i], expected[i]) << i;
}

std::vector<unsigned> random_samples(std::size_t count, int bit_depth) {
  std::mt19937 random(1);
  std::vector<unsigned> samples(count);
  for (unsigned& sample : samples) sample = static_cast<unsigned>(random() & ((1u << bit_depth) - 1));
  return samples;
}

TEST(Png, ReadsEveryColorTypeAndBitDepth) {
  struct Kind {
    int color_type, channels;
    std::vector<int> bit_depths;
  };
  const std::vector<Kind> kinds = {{PNG_COLOR_TYPE_GRAY, 1, {1, 2, 4, 8, 16}},
                                   {PNG_COLOR_TYPE_GRAY_ALPHA, 2, {8, 16}},
                                   {PNG_COLOR_TYPE_RGB, 3, {8, 16}},
                                   {PNG_COLOR_TYPE_RGB_ALPHA, 4, {8, 16}}};
  for (const Kind& kind : kinds) {
    for (const int bit_depth : kind.bit_depths) {
      for (const int interlace : {PNG_INTERLACE_NONE, PNG_INTERLACE_ADAM7}) {
        Png png{.width = 13,
                .height = 11,
                .bit_depth = bit_depth,
                .color_type = kind.color_type,
                .interlace = interlace};
        png.samples = random_samples(13u * 11u * static_cast<unsigned>(kind.channels), bit_depth);
        std::vector<float> expected;
        const float white = static_cast<float>((1 << bit_depth) - 1);
        for (const unsigned sample : png.samples) expected.push_back(static_cast<float>(sample) / white);
        const Image image = load_image_bytes(png.encode());
        EXPECT_EQ(image.width_px, 13);
        EXPECT_EQ(image.height_px, 11);
        expect_values(image, kind.channels, expected);
      }
    }
  }
}

TEST(Png, RoundsSixteenBitsToBytes) {
  TestFolder folder;
  Png png{.width = 6, .height = 1, .bit_depth = 16, .samples = {0, 128, 129, 65535, 65406, 0x8080}};
  const std::filesystem::path path = folder.write("a.png", png.encode());
  EXPECT_EQ(load_byte_image(path).values, (std::vector<std::uint8_t>{0, 0, 1, 255, 254, 128}));
  EXPECT_EQ(load_image(path).values[1], 128 / 65535.0f);
}

TEST(Png, AppliesOrRejectsExifOrientation) {
  TestFolder folder;
  Png png{.width = 3, .height = 2, .samples = {10, 20, 30, 40, 50, 60}};
  png.exif = exif(6, true).substr(6);  // without the signature that a JPEG has
  const std::filesystem::path path = folder.write("a.png", png.encode());
  EXPECT_EQ(load_image_info(path).orientation, 6);
  const ByteImage upright = load_byte_image(path);
  EXPECT_EQ(upright.width_px, 2);
  EXPECT_EQ(upright.values, (std::vector<std::uint8_t>{40, 10, 50, 20, 60, 30}));  // turned clockwise
  png.exif_at_end = true;
  EXPECT_EQ(error_of([&] { load_byte_image(folder.write("a.png", png.encode())); }),
            path.string() +
                ": an Exif orientation stored after the pixels is not supported; save the image upright");
}

TEST(Png, InfoMatchesDecodedImage) {
  TestFolder folder;
  Png palette{.width = 9, .height = 7, .bit_depth = 4, .color_type = PNG_COLOR_TYPE_PALETTE};
  palette.palette.resize(16);
  palette.samples = random_samples(63, 4);
  Png transparent = palette;
  transparent.palette_alpha = {1};
  Png grey{.width = 9, .height = 7, .samples = random_samples(63, 8)};
  Png rgba{.width = 9, .height = 7, .bit_depth = 16, .color_type = PNG_COLOR_TYPE_RGB_ALPHA};
  rgba.samples = random_samples(252, 16);
  for (const Png& png : {palette, transparent, grey, rgba}) {
    const std::filesystem::path path = folder.write("a.png", png.encode());
    const ImageInfo info = load_image_info(path);
    const ByteImage image = load_byte_image(path, 1, 1);
    EXPECT_EQ(info.width_px, image.width_px);
    EXPECT_EQ(info.height_px, image.height_px);
    EXPECT_EQ(info.channel_count, image.channel_count);
    EXPECT_EQ(info.orientation, 1);
  }
  const std::string cut = grey.encode().substr(0, 30);
  const std::filesystem::path path = folder.write("a.png", cut);
  EXPECT_EQ(error_of([&] { load_image_info(path); }), path.string() + ": the file is truncated");
}

TEST(Png, ExpandsPalette) {
  for (const int bit_depth : {1, 2, 4, 8}) {
    Png png{.width = 3, .height = 1, .bit_depth = bit_depth, .color_type = PNG_COLOR_TYPE_PALETTE};
    png.palette = {{255, 0, 51}, {0, 102, 255}};
    png.samples = {1, 0, 1};
    expect_values(load_image_bytes(png.encode()), 3, {0, 0.4f, 1, 1, 0, 0.2f, 0, 0.4f, 1});
    png.palette_alpha = {51};  // other entries are opaque
    expect_values(load_image_bytes(png.encode()), 4, {0, 0.4f, 1, 1, 1, 0, 0.2f, 0.2f, 0, 0.4f, 1, 1});
  }
}

TEST(Png, ExpandsTransparentColorToAlpha) {
  Png png{.width = 3, .height = 1, .bit_depth = 8, .transparent_grey = 51, .samples = {51, 102, 255}};
  expect_values(load_image_bytes(png.encode()), 2, {0.2f, 0, 0.4f, 1, 1, 1});
  png.bit_depth = 2;
  png.transparent_grey = 1;
  png.samples = {1, 0, 3};
  expect_values(load_image_bytes(png.encode()), 2, {1 / 3.0f, 0, 0, 1, 1, 1});
}

TEST(Png, RoundTripOfFloatsIsExact) {
  TestFolder folder;
  for (int channels = 1; channels <= 4; ++channels) {
    Image image(16, 16, channels);
    for (std::size_t i = 0; i < image.values.size(); ++i)
      image.values[i] = static_cast<float>(i % 256) / 255.0f;
    save_png(image, folder / "a.png");
    const Image back = load_image(folder / "a.png");
    EXPECT_EQ(back.channel_count, channels);
    EXPECT_EQ(back.values, image.values);
  }
}

TEST(Png, RoundTripOfBytesIsExact) {
  TestFolder folder;
  for (int channels = 1; channels <= 4; ++channels) {
    ByteImage image(16, 16, channels);
    for (std::size_t i = 0; i < image.values.size(); ++i)
      image.values[i] = static_cast<std::uint8_t>(i % 256);
    save_png(image, folder / "a.png");
    const ByteImage back = load_byte_image(folder / "a.png");
    EXPECT_EQ(back.channel_count, channels);
    EXPECT_EQ(back.values, image.values);
  }
}

TEST(Png, ClampsAndRoundsWhenSaving) {
  TestFolder folder;
  const float infinity = std::numeric_limits<float>::infinity();
  Image image(8, 1, 1);
  image.values = {-1, 2, std::nanf(""), infinity, -infinity, 10.4f / 255, 10.6f / 255, 254.7f / 255};
  save_png(image, folder / "a.png");
  expect_values(load_image(folder / "a.png"), 1, {0, 1, 0, 1, 0, 10.0f / 255, 11.0f / 255, 1});
}

TEST(Png, RejectsCorruptFiles) {
  TestFolder folder;
  Png palette{.width = 9, .height = 7, .bit_depth = 4, .color_type = PNG_COLOR_TYPE_PALETTE};
  palette.palette.resize(16);
  palette.palette_alpha = {1, 2, 3};
  palette.samples = random_samples(63, 4);
  Png interlaced{.width = 9,
                 .height = 7,
                 .color_type = PNG_COLOR_TYPE_RGB,
                 .interlace = PNG_INTERLACE_ADAM7,
                 .samples = random_samples(189, 8)};
  for (const std::string& whole : {palette.encode(), interlaced.encode()}) {
    expect_every_cut_fails(folder, "a.png", whole, load_image);
    expect_flips_are_survived(folder, "a.png", whole, 1500, load_image);
  }
  EXPECT_EQ(image_error(palette.encode().substr(0, 60)), "the file is truncated");
  std::string damaged = palette.encode();
  damaged[damaged.find("tRNS") + 4] = 99;  // by default libpng would ignore the transparency
  EXPECT_EQ(image_error(damaged), "tRNS: CRC error");
}

// One bit per pixel becomes four bytes.
TEST(Png, RejectsTinyFilesOfHugeImages) {
  Png png{.width = 16384, .height = 16384, .bit_depth = 1, .color_type = PNG_COLOR_TYPE_PALETTE};
  png.palette.resize(2);
  png.palette_alpha = {0};
  png.header_only = true;
  std::string file = png.encode();
  file.resize(33'000);
  EXPECT_EQ(image_error(file),
            "16384 x 16384 pixels are more than a file of 33000 bytes should have; save the image at a "
            "smaller size");
  png.width = 1 << 17;
  png.height = 1;
  EXPECT_EQ(image_error(png.encode()), "131072 x 1 pixels exceed the limit of 65536 per side");
}

std::string png_chunk(const std::string& content) {  // with its name
  const auto number = [](std::size_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
  };
  const auto* bytes = reinterpret_cast<const Bytef*>(content.data());
  return number(content.size() - 4) + content + number(crc32_z(0, bytes, content.size()));
}

std::string compressed(const std::string& text) {
  uLongf size = compressBound(text.size());
  std::string result(size, '\0');
  compress(reinterpret_cast<Bytef*>(result.data()), &size, reinterpret_cast<const Bytef*>(text.data()),
           text.size());
  return result.substr(0, size);
}

// 100 texts of 8 kB each, which become 7 MB each.
TEST(Png, DoesNotDecompressTexts) {
  TestFolder folder;
  const std::string text = png_chunk(std::string("zTXta\0\0", 7) + compressed(std::string(7'000'000, 'a')));
  std::string file = Png{.width = 2, .height = 1, .samples = {0, 255}}.encode();
  const std::size_t header_bytes = 8 + 25;  // signature and IHDR
  for (int i = 0; i < 100; ++i) file.insert(header_bytes, text);
  const std::filesystem::path path = folder.write("a.png", file);
  EXPECT_EQ(load_byte_image(path).values, (std::vector<std::uint8_t>{0, 255}));
  EXPECT_LT(peak_growth_mib([&] { load_byte_image(path); }), 100u);
}

// The length of the Exif chunk is 2 GB.
TEST(Png, RejectsAnExifChunkLargerThanTheFile) {
  Png png{.width = 3, .height = 2, .samples = {10, 20, 30, 40, 50, 60}};
  png.exif = exif(6, true).substr(6);
  std::string file = png.encode();
  file.replace(file.find("eXIf") - 4, 4, "\x7f\xff\xff\xf0");
  EXPECT_EQ(image_error(file), "the file is truncated");
}

// 16 megapixels take 64 MB as decoded, and another 256 MB as floats.
TEST(ImageFile, ASmallImageIsNeverHeldAsFloats) {
  TestFolder folder;
  const std::filesystem::path path = folder / "a.png";
  save_png(ByteImage(4096, 4096, 4), path);
  EXPECT_LT(peak_growth_mib([&] { load_small_image(path, 64); }), 200u);
}

TEST(ImageFile, ShrinksWhileLoading) {
  TestFolder folder;
  Png png{.width = 13, .height = 11, .bit_depth = 16, .color_type = PNG_COLOR_TYPE_RGB_ALPHA};
  png.samples = random_samples(13 * 11 * 4, 16);
  png.exif = exif(6, true).substr(6);
  const std::filesystem::path path = folder.write("a.png", png.encode());
  EXPECT_EQ(load_small_image(path, 13).values, load_image(path).values);
  const Image small = load_small_image(path, 5), expected = shrink_to(load_image(path), 5);
  EXPECT_EQ(small.width_px, expected.width_px);
  EXPECT_EQ(small.height_px, 5);
  expect_values(small, 4, expected.values);
}

TEST(Png, RejectsSizesLargerThanTheFile) {
  Png png{.width = 65536, .height = 65536, .header_only = true};
  EXPECT_EQ(image_error(png.encode()), "65536 x 65536 pixels exceed the limit of 268435456");
  png.width = PNG_UINT_31_MAX;
  EXPECT_EQ(image_error(png.encode()), "2147483647 x 65536 pixels exceed the limit of 268435456");
  png.width = png.height = 16384;
  EXPECT_EQ(image_error(png.encode()), "the file is too short for its 268435456 bytes of pixels");
}

TEST(Png, ReportsFailedWrite) {
  TestFolder folder;
  EXPECT_EQ(error_of([] { save_png(Image(2, 2, 3), "/dev/full"); }),
            "cannot write /dev/full: No space left on device");
  EXPECT_NE(error_of([&] { save_png(Image(0, 0, 3), folder / "a.png"); }), "");
  EXPECT_EQ(folder.file_count(), 0u);
}

TEST(ImageFile, RecognisesFormatByContent) {
  TestFolder folder;
  save_png(Image(2, 3, 1), folder / "really_a_png.jpg");
  EXPECT_EQ(load_image(folder / "really_a_png.jpg").height_px, 3);
  EXPECT_EQ(image_error(""), "neither a JPEG nor a PNG image");
  EXPECT_EQ(image_error("GIF89a"), "neither a JPEG nor a PNG image");
  EXPECT_EQ(error_of([] { load_image_info("no/photo.jpg"); }),
            "cannot open no/photo.jpg: No such file or directory");
  EXPECT_EQ(error_of([] { load_image("no/photo.jpg"); }),
            "cannot open no/photo.jpg: No such file or directory");
}

}  // namespace
}  // namespace stipple
