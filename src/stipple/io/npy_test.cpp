// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/npy.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

Image random_image(int width, int height, int channels) {
  std::mt19937 random(7);
  Image image(width, height, channels);
  for (float& value : image.values) value = std::uniform_real_distribution<float>(-3, 3)(random);
  return image;
}

std::string npy(std::string_view dictionary, std::string_view data, int version = 1) {
  std::string file = "\x93NUMPY";
  file += {static_cast<char>(version), '\0'};
  const std::size_t size_bytes = version == 1 ? 2 : 4;
  for (std::size_t i = 0; i < size_bytes; ++i) file += static_cast<char>(dictionary.size() >> 8 * i & 0xff);
  return file.append(dictionary).append(data);
}

template <class T>
std::string bytes_of(std::initializer_list<T> values, std::endian order) {
  std::string bytes;
  for (const T value : values) {
    std::string one(sizeof(T), '\0');
    std::memcpy(one.data(), &value, sizeof(T));
    if (order != std::endian::native) std::reverse(one.begin(), one.end());
    bytes += one;
  }
  return bytes;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

TEST(Npy, RoundTripIsExact) {
  TestFolder folder;
  for (int channels = 1; channels <= 4; ++channels) {
    Image image = random_image(5, 3, channels);
    image.values[0] = std::numeric_limits<float>::infinity();
    image.values[1] = std::bit_cast<float>(0x7fa12345u);  // a NaN with a payload
    image.values[2] = -0.0f;
    save_npy(image, folder / "a.npy");
    const Image back = load_npy(folder / "a.npy");
    EXPECT_EQ(back.width_px, 5);
    EXPECT_EQ(back.height_px, 3);
    EXPECT_EQ(back.channel_count, channels);
    EXPECT_TRUE(same_bits(back.values, image.values));
  }
}

TEST(Npy, MatchesNumpyOutput) {
  TestFolder folder;
  Image image(3, 2, 1);
  image.values = {1, 2, 3, 4, 5, 6};
  save_npy(image, folder / "a.npy");
  const std::string file = read_file(folder / "a.npy");
  std::string dictionary = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  dictionary.resize(117, ' ');
  dictionary += '\n';
  EXPECT_EQ(file, npy(dictionary, bytes_of<float>({1, 2, 3, 4, 5, 6}, std::endian::little)));
  EXPECT_EQ((file.size() - 24) % 64, 0u);

  save_npy(Image(7, 5, 3), folder / "b.npy");
  EXPECT_NE(read_file(folder / "b.npy").find("'shape': (5, 7, 3), }"), std::string::npos);
}

TEST(Npy, ReadsEveryType) {
  TestFolder folder;
  const std::vector<float> expected = {1, 2, 250, 4};
  const auto load = [&](std::string_view type, const std::string& data, int version) {
    const std::string dictionary =
        "{\"shape\" : ( 2 ,2, ), 'fortran_order':False,'descr': '" + std::string(type) + "'}";
    return load_npy(folder.write("a.npy", npy(dictionary, data, version)));
  };
  for (int version = 1; version <= 3; ++version) {
    EXPECT_EQ(load("<f4", bytes_of<float>({1, 2, 250, 4}, std::endian::little), version).values, expected);
    EXPECT_EQ(load(">f4", bytes_of<float>({1, 2, 250, 4}, std::endian::big), version).values, expected);
    EXPECT_EQ(load("<f8", bytes_of<double>({1, 2, 250, 4}, std::endian::little), version).values, expected);
    EXPECT_EQ(load(">f8", bytes_of<double>({1, 2, 250, 4}, std::endian::big), version).values, expected);
    EXPECT_EQ(load("|u1", "\1\2\xfa\4", version).values, expected);  // not divided by 255
  }
}

TEST(Npy, ChecksShape) {
  TestFolder folder;
  const auto load = [&](std::string_view shape, std::size_t bytes) {
    const std::string dictionary =
        "{'descr': '|u1', 'fortran_order': False, 'shape': " + std::string(shape) + "}";
    return load_npy(folder.write("a.npy", npy(dictionary, std::string(bytes, '\3'))));
  };
  const Image image = load("(2, 3, 4)", 24);
  EXPECT_EQ(image.height_px, 2);
  EXPECT_EQ(image.width_px, 3);
  EXPECT_EQ(image.channel_count, 4);
  EXPECT_EQ(load("(2, 3, 1)", 6).channel_count, 1);
  EXPECT_EQ(load("(0, 3)", 0).width_px, 3);

  const auto message = [&](std::string_view shape, std::size_t bytes) {
    return error_of([&] { load(shape, bytes); });
  };
  const std::string name = (folder / "a.npy").string();
  EXPECT_EQ(message("(6,)", 6),
            name + ": the shape must be (height, width) or (height, width, 1 to 4), not (6)");
  EXPECT_NE(message("()", 1), "");
  EXPECT_NE(message("(1, 1, 5)", 5), "");
  EXPECT_NE(message("(1, 1, 0)", 0), "");
  EXPECT_NE(message("(1, 1, 1, 1)", 1), "");
  EXPECT_NE(message("(-1, 1)", 1), "");
  EXPECT_NE(message("(1 1)", 1), "");
  EXPECT_NE(message("(4294967296, 4294967296)", 0), "");  // the product, 2^64, wraps around to 0
  EXPECT_NE(message("(99999999999999999999, 1)", 1), "");
  EXPECT_EQ(
      message("(2147483647, 2147483647, 4)", 9),
      name +
          ": the file is truncated: it has 9 bytes of values, but shape (2147483647, 2147483647, 4) needs "
          "18446744056529682436 x 1 bytes");
  EXPECT_NE(message("(2, 3)", 7).find("is too long"), std::string::npos);
}

TEST(Npy, ErrorsNameTheProblem) {
  TestFolder folder;
  const auto message = [&](const std::string& content) {
    folder.write("a.npy", content);
    const std::string whole = error_of([&] { load_npy(folder / "a.npy"); });
    const std::string prefix = (folder / "a.npy").string() + ": ";
    EXPECT_TRUE(whole.starts_with(prefix)) << whole;
    return whole.substr(std::min(prefix.size(), whole.size()));
  };
  const std::string good = "'fortran_order': False, 'shape': (1, 1)}";
  EXPECT_EQ(message("\x89PNG"), "not an .npy file");
  EXPECT_EQ(message(npy("{'descr': '<i4', " + good, "1234")),
            "type '<i4' is not supported; use <f4, >f4, <f8, >f8 or |u1");
  EXPECT_EQ(message(npy("{'descr': [('x', '<f4')], " + good, "1234")),
            "malformed header: structured types are not supported");
  EXPECT_EQ(message(npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1, 1)}", "1234")),
            "Fortran order is not supported");
  EXPECT_EQ(message(npy("{'descr': '<f4', " + good, "1234", 4)), "version 4 of the format is not supported");
  EXPECT_EQ(message(npy("{" + good, "1234")),
            "malformed header: 'descr', 'fortran_order' or 'shape' is missing");
  std::string sizes;
  for (int i = 0; i < 65; ++i) sizes += "1, ";
  EXPECT_EQ(message(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (" + sizes + ")}", "x")),
            "malformed header: 'shape' has more than 64 sizes");
  EXPECT_EQ(message(npy("{'descr': '<f4', 'extra': 1, " + good, "1234")),
            "malformed header: the dictionary has an unknown key");
  EXPECT_EQ(message(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{", 13)),
            "the file is truncated in its header");
  EXPECT_EQ(message(npy("", "")), "malformed header: the dictionary lacks '{'");
}

TEST(Npy, RejectsCorruptFiles) {
  TestFolder folder;
  save_npy(random_image(4, 3, 3), folder / "a.npy");
  const std::string whole = read_file(folder / "a.npy");
  expect_every_cut_fails(folder, "b.npy", whole, load_npy);
  expect_flips_are_survived(folder, "b.npy", whole, 2000, load_npy);
  expect_flips_are_survived(folder, "b.npy", whole.substr(0, 128), 2000, load_npy);
}

TEST(Npy, ReportsFullDisk) {
  EXPECT_EQ(error_of([] { save_npy(Image(2, 2, 3), "/dev/full"); }),
            "cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace stipple
