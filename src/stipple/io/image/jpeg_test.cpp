// SPDX-License-Identifier: Apache-2.0
// Tests of load_image() and related functions for JPEG files, and of Exif orientations.
#include <cstdlib>
#include <utility>
#include <vector>

#include "stipple/core/error.h"
#include "stipple/io/image/image_codec.h"
#include "stipple/io/image/image_file.h"
#include "tests/helpers/load_image_bytes.h"
#include "tests/helpers/test_folder.h"
#include "tests/helpers/test_jpeg.h"

namespace stipple {
namespace {

TEST(Jpeg, ReadsGreyAndColour) {
  for (const int channels : {1, 3}) {
    for (const bool progressive : {false, true}) {
      Jpeg jpeg = blocks(3, 2, channels);
      jpeg.progressive = progressive;
      const Image image = load_image_bytes(jpeg.encode());
      EXPECT_EQ(image.width_px, 24);
      EXPECT_EQ(image.height_px, 16);
      ASSERT_EQ(image.channel_count, channels);
      for (std::size_t i = 0; i < image.values.size(); ++i) {
        EXPECT_NEAR(image.values[i], static_cast<float>(jpeg.samples[i]) / 255.0f, 0.02f);
      }
    }
  }
}

TEST(Jpeg, RejectsCmyk) {
  Jpeg jpeg{.width = 8, .height = 8, .color_space = JCS_CMYK, .channels = 4};
  jpeg.samples.resize(256);
  EXPECT_EQ(image_error(jpeg.encode()), "CMYK is not supported; convert the image to RGB or grey");
}

// Returns where a stored pixel is shown. The Exif standard defines at which sides of the image the first row
// and the first column are.
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

TEST(Jpeg, TurnsImagesUpright) {
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const bool big_endian : {false, true}) {
      Jpeg jpeg = blocks(3, 2, 3);
      jpeg.app1 = exif(orientation, big_endian);
      const Image image = load_image_bytes(jpeg.encode());
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

TEST(Jpeg, TreatsMalformedExifAsUpright) {
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

TEST(Jpeg, RejectsCorruptFiles) {
  TestFolder folder;
  for (const bool progressive : {false, true}) {
    Jpeg jpeg = blocks(2, 1, 3);
    jpeg.progressive = progressive;
    jpeg.app1 = exif(6, false);
    const std::string whole = jpeg.encode();
    expect_every_cut_fails(folder, "a.jpg", whole, load_image);
    expect_flips_are_survived(folder, "a.jpg", whole, 1500, load_image);
    EXPECT_EQ(image_error(whole.substr(0, whole.size() - 2)), "Premature end of JPEG file");
  }
}

TEST(Jpeg, RejectsSizesLargerThanTheFile) {
  std::string file = blocks(2, 1, 3).encode();
  const std::size_t frame = file.find("\xff\xc0");  // marker, length, precision, then height and width
  ASSERT_NE(frame, std::string::npos);
  file.replace(frame + 5, 4, std::string("\xff\0\xff\0", 4));
  EXPECT_EQ(image_error(file), "65280 x 65280 pixels exceed the limit of 268435456");
  file.replace(frame + 5, 4, "\x3f\xff\x3f\xff");
  EXPECT_EQ(image_error(file), "the file is too short for 16383 x 16383 pixels");
}

// A block takes two bits, or one in a progressive file. Here, the file has one and a half.
TEST(Jpeg, RejectsFewerBitsThanBlocks) {
  for (const bool progressive : {false, true}) {
    Jpeg jpeg = blocks(2, 1, 3);
    jpeg.progressive = progressive;
    std::string file = jpeg.encode();
    const std::size_t frame = file.find(progressive ? "\xff\xc2" : "\xff\xc0");
    ASSERT_NE(frame, std::string::npos);
    file.replace(frame + 5, 4, std::string("\x04\0\x04\0", 4));  // 3 * 128 * 128 blocks
    file.resize(3 * 128 * 128 * 3 / 2 / 8);
    EXPECT_EQ(image_error(file), progressive ? "Corrupt JPEG data: premature end of data segment"
                                             : "the file is too short for 1024 x 1024 pixels");
  }
}

TEST(Jpeg, RejectsArithmeticCoding) {
  std::string file = blocks(2, 1, 3).encode();
  file[file.find("\xff\xc0") + 1] = '\xc9';
  EXPECT_EQ(image_error(file),
            "arithmetic coding is not supported; save the image as a baseline or progressive JPEG");
  TestFolder folder;
  EXPECT_NE(error_of([&] { load_image_info(folder.write("a.jpg", file)); }), "");
}

// Each coefficient of a block has a scan of its own; in the second case, one per bit.
TEST(Jpeg, LimitsTheNumberOfScans) {
  Jpeg jpeg = blocks(3, 2, 1);
  jpeg.scans = {{.comps_in_scan = 1, .component_index = {}, .Ss = 0, .Se = 0, .Ah = 0, .Al = 0}};
  for (int k = 1; k < 64; ++k)
    jpeg.scans.push_back({.comps_in_scan = 1, .component_index = {}, .Ss = k, .Se = k, .Ah = 0, .Al = 1});
  EXPECT_EQ(load_image_bytes(jpeg.encode()).width_px, 24);
  for (int k = 1; k < 64; ++k)
    jpeg.scans.push_back({.comps_in_scan = 1, .component_index = {}, .Ss = k, .Se = k, .Ah = 1, .Al = 0});
  EXPECT_EQ(image_error(jpeg.encode()), "the image has more than 100 scans; save it as a baseline JPEG");
}

// Each of them claims 65,535 entries. Looking at entries that are not there, and libjpeg's own list of
// markers, would each take seconds.
TEST(Jpeg, SurvivesThousandsOfExifTables) {
  std::string table = exif(6, true).substr(0, 16);
  table[14] = table[15] = '\xff';
  const std::string marker = std::string("\xff\xe1\0", 3) + static_cast<char>(table.size() + 2) + table;
  std::string markers;
  for (int i = 0; i < 50'000; ++i) markers += marker;
  const std::string plain = blocks(2, 1, 3).encode();
  EXPECT_EQ(load_image_bytes(plain.substr(0, 2) + markers + plain.substr(2)).width_px, 16);
}

TEST(Jpeg, BytesMatchFloatValues) {
  TestFolder folder;
  for (const int channels : {1, 3}) {
    Jpeg jpeg = waves(21, 13, channels);
    jpeg.app1 = exif(6, true);
    const std::filesystem::path path = folder.write("a.jpg", jpeg.encode());
    const Image image = load_image(path);
    const ByteImage bytes = load_byte_image(path);
    EXPECT_EQ(bytes.width_px, 13);
    EXPECT_EQ(bytes.height_px, 21);
    ASSERT_EQ(bytes.values.size(), image.values.size());
    for (std::size_t i = 0; i < bytes.values.size(); ++i) {
      EXPECT_EQ(static_cast<float>(bytes.values[i]) / 255.0f, image.values[i]);
    }
  }
}

TEST(Jpeg, DecodesNoLargerThanNeeded) {
  TestFolder folder;
  const auto shrunk_by = [&](int orientation, int min_width, int min_height) {
    Jpeg jpeg = waves(163, 80);
    jpeg.app1 = exif(orientation, false);
    const std::filesystem::path path = folder.write("a.jpg", jpeg.encode());
    const StoredImage stored = load_stored_image(path, min_width, min_height);
    EXPECT_EQ(stored.pixels.width_px, (163 + stored.shrunk_by - 1) / stored.shrunk_by);
    EXPECT_EQ(stored.pixels.height_px, 80 / stored.shrunk_by);
    EXPECT_EQ(stored.info.width_px, 163);
    return stored.shrunk_by;
  };
  EXPECT_EQ(shrunk_by(1, 0, 0), 1);
  EXPECT_EQ(shrunk_by(1, 163, 80), 1);
  EXPECT_EQ(shrunk_by(1, 83, 1), 1);
  EXPECT_EQ(shrunk_by(1, 82, 40), 2);
  EXPECT_EQ(shrunk_by(1, 82, 41), 1);
  EXPECT_EQ(shrunk_by(1, 41, 20), 4);
  EXPECT_EQ(shrunk_by(1, 21, 10), 8);
  EXPECT_EQ(shrunk_by(1, 1, 1), 8);
  EXPECT_EQ(shrunk_by(1, 1000, 1000), 1);
  EXPECT_EQ(shrunk_by(6, 40, 82), 2);  // the minimum refers to the upright image
  EXPECT_EQ(shrunk_by(6, 82, 40), 1);
}

TEST(Jpeg, InfoMatchesDecodedImage) {
  TestFolder folder;
  for (int orientation = 1; orientation <= 8; ++orientation) {
    for (const int channels : {1, 3}) {
      Jpeg jpeg = waves(20, 12, channels);
      jpeg.app1 = exif(orientation, orientation % 2 == 0);
      jpeg.progressive = channels == 3;
      const std::filesystem::path path = folder.write("a.jpg", jpeg.encode());
      const ImageInfo info = load_image_info(path);
      EXPECT_EQ(info.width_px, 20);
      EXPECT_EQ(info.height_px, 12);
      EXPECT_EQ(info.channel_count, channels);
      EXPECT_EQ(info.orientation, orientation);
      EXPECT_EQ(load_stored_image(path).info.orientation, orientation);
      EXPECT_EQ(load_byte_image(path).width_px, orientation >= 5 ? 12 : 20);
    }
  }
}

// Inserts markers of 64 KiB, as used by colour profiles and previews, before those of the image.
std::string with_large_markers(const std::string& jpeg, int count) {
  std::string markers;
  for (int i = 0; i < count; ++i) markers += std::string("\xff\xe2\xff\xff", 4) + std::string(0xfffd, 'p');
  return jpeg.substr(0, 2) + markers + jpeg.substr(2);
}

TEST(Jpeg, InfoReadsPastLargeMarkers) {
  TestFolder folder;
  Jpeg jpeg = waves(20, 12);
  jpeg.app1 = exif(8, false);
  for (const int count : {1, 4, 20}) {
    const std::string whole = with_large_markers(jpeg.encode(), count);
    EXPECT_EQ(load_image_info(folder.write("a.jpg", whole)).orientation, 8);
    const std::filesystem::path cut = folder.write("a.jpg", whole.substr(0, 65530u * count));
    EXPECT_EQ(error_of([&] { load_image_info(cut); }), cut.string() + ": Premature end of JPEG file");
  }
}

TEST(Jpeg, InfoReportsSameErrorsAsDecoding) {
  TestFolder folder;
  Jpeg cmyk{.width = 8, .height = 8, .color_space = JCS_CMYK, .channels = 4};
  cmyk.samples.resize(256);
  const std::filesystem::path path = folder.write("a.jpg", cmyk.encode());
  EXPECT_EQ(error_of([&] { load_image_info(path); }), error_of([&] { load_image(path); }));
  expect_flips_are_survived(folder, "a.jpg", waves(9, 9).encode(), 500, load_image_info);
}

TEST(Jpeg, AcceptsExtraBytes) {
  const std::string whole = waves(40, 24).encode();
  const std::vector<float> expected = load_image_bytes(whole).values;
  const std::string padding(7, '\0');
  const std::size_t tables = whole.find("\xff\xdb"), end = whole.size() - 2;
  for (const std::size_t place : {tables, end}) {  // cameras pad before markers
    EXPECT_EQ(load_image_bytes(whole.substr(0, place) + padding + whole.substr(place)).values, expected);
  }
  EXPECT_EQ(load_image_bytes(whole + "a short video" + whole).values, expected);  // phones append videos
}

ByteImage gradient(int width, int height, int channels) {
  ByteImage image(width, height, channels);
  for (std::size_t i = 0; i < image.values.size(); ++i) {
    const std::size_t pixel = i / static_cast<std::size_t>(channels),
                      channel = i % static_cast<std::size_t>(channels);
    image.values[i] = static_cast<std::uint8_t>((3 * pixel + 80 * channel) % 200);
  }
  return image;
}

double mean_difference(const ByteImage& image, const JpegOptions& options) {
  const std::vector<std::byte> file = encode_jpeg(image, options);
  const DecodedImage decoded = decode_jpeg(file, 0, 0, "encoded.jpg");
  EXPECT_EQ(decoded.width_px, image.width_px);
  EXPECT_EQ(decoded.height_px, image.height_px);
  EXPECT_EQ(decoded.info.channel_count, image.channel_count);
  EXPECT_EQ(decoded.bytes.size(), image.values.size());
  double sum = 0;
  for (std::size_t i = 0; i < image.values.size(); ++i)
    sum += std::abs(static_cast<int>(decoded.bytes[i]) - static_cast<int>(image.values[i]));
  return sum / static_cast<double>(image.values.size());
}

TEST(Jpeg, WhatIsEncodedDecodesToNearlyTheSame) {
  for (const int channels : {1, 3})
    EXPECT_LT(mean_difference(gradient(67, 35, channels), {.quality = 95}), 2) << channels;
}

TEST(Jpeg, LowerQualityAndFewerColoursTakeFewerBytes) {
  const ByteImage image = gradient(64, 64, 3);
  const std::size_t full = encode_jpeg(image, {.quality = 90}).size();
  EXPECT_LT(encode_jpeg(image, {.quality = 60}).size(), full);
  EXPECT_LT(encode_jpeg(image, {.quality = 90, .full_color = false}).size(), full);
}

TEST(Jpeg, AnImageTooLargeForTheFormatIsAnError) {
  EXPECT_THROW(encode_jpeg(ByteImage(65'501, 1, 1)), Error);
}

}  // namespace
}  // namespace stipple
