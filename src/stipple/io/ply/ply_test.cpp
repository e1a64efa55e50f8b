// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/ply/ply.h"

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "tests/helpers/ply_builder.h"

namespace stipple {
namespace {

// Arbitrary bits: includes denormals, infinities and NaNs of every kind.
Gaussians random_bits(std::size_t count, int sh_degree) {
  std::mt19937 random(11);
  Gaussians gaussians = make_gaussians(count, sh_degree);
  for_each_parameter(
      [&](int, auto& array) {
        for (std::size_t i = 0; i < array.size() * sizeof(array[0]) / sizeof(float); ++i) {
          const std::uint32_t bits = static_cast<std::uint32_t>(random());
          std::memcpy(reinterpret_cast<char*>(array.data()) + i * sizeof(bits), &bits, sizeof(bits));
        }
      },
      gaussians);
  return gaussians;
}

TEST(Ply, RoundTripIsExact) {
  TestFolder folder;
  for (int degree = 0; degree <= 3; ++degree) {
    for (const std::size_t count : {0u, 1u, 100u, 5000u}) {  // 5000 takes more than one write
      const Gaussians gaussians = random_bits(count, degree);
      save_ply(gaussians, folder / "a.ply");
      const Gaussians back = load_ply(folder / "a.ply");
      EXPECT_TRUE(same_bits(back, gaussians)) << "degree " << degree << ", " << count << " Gaussians";
      save_ply(back, folder / "b.ply");
      EXPECT_EQ(read_file(folder / "a.ply"), read_file(folder / "b.ply"));
    }
  }
}

TEST(Ply, WritesStandardLayout) {
  TestFolder folder;
  Gaussians gaussians = whole_number_gaussians(7, 3);
  save_ply(gaussians, folder / "a.ply");
  std::string expected = ply_file(gaussians, usual_columns(3, "float"), "binary_little_endian");
  const std::size_t data = expected.find("end_header\n") + 11;
  for (std::size_t i = 0; i < 7; ++i) std::memset(&expected[data + 248 * i + 12], 0, 12);  // the normals
  EXPECT_EQ(read_file(folder / "a.ply"), expected);
}

TEST(Ply, ReadsEveryTypeAndFormat) {
  const std::vector<std::string> types = {"char",   "int8",    "uchar",  "uint8",  "short", "int16",
                                          "ushort", "uint16",  "int",    "int32",  "uint",  "uint32",
                                          "float",  "float32", "double", "float64"};
  for (const std::string& format : kFormats) {
    for (const std::string& type : types) {
      for (int degree = 0; degree <= 3; ++degree) {
        const Gaussians gaussians = whole_number_gaussians(5, degree);
        const std::string file = ply_file(gaussians, usual_columns(degree, type, degree % 2 == 0), format);
        EXPECT_TRUE(same_bits(load_bytes(file), gaussians)) << format << " " << type << " degree " << degree;
      }
    }
  }
}

TEST(Ply, FloatsAreExactInEveryFormat) {
  Gaussians gaussians = whole_number_gaussians(200, 1);
  std::mt19937 random(2);
  for (Vec3f& mean : gaussians.mean) {
    const auto any = [&] {
      return std::ldexp(static_cast<float>(random()), static_cast<int>(random() % 200) - 130);
    };
    mean = {any(), -any(), any()};
  }
  for (const std::string& format : kFormats) {
    for (const char* type : {"float", "double"}) {
      EXPECT_TRUE(same_bits(load_bytes(ply_file(gaussians, usual_columns(1, type), format)), gaussians));
    }
  }
}

TEST(Ply, FindsPropertiesInAnyOrder) {
  std::mt19937 random(9);
  const std::vector<std::string> types = {"float", "double", "short", "uchar", "int"};
  for (const std::string& format : kFormats) {
    for (int round = 0; round < 20; ++round) {
      const Gaussians gaussians = whole_number_gaussians(6, round % 4);
      std::vector<Column> columns = usual_columns(round % 4, "float", round % 2 == 0);
      for (Column& column : columns) column.type = types[random() % types.size()];
      columns.push_back({"uchar", "red"});
      columns.push_back({"double", "f_rest"});
      columns.push_back({"float", "f_rest_x"});
      if (round % 3 != 0) {
        columns.push_back({"list uchar int", "neighbours"});
        columns.push_back({"list int double", "weights"});
      }
      std::shuffle(columns.begin(), columns.end(), random);
      EXPECT_TRUE(same_bits(load_bytes(ply_file(gaussians, columns, format)), gaussians)) << format << round;
    }
  }
}

TEST(Ply, SkipsOtherElements) {
  const Gaussians gaussians = whole_number_gaussians(4, 0);
  const std::vector<Column> columns = usual_columns(0, "float");
  const std::vector<Column> face = {{"list uchar int", "vertex_indices"}, {"double", "area"}};
  const std::vector<Column> camera = {{"short", "id"}, {"float", "x"}};
  for (const std::string& format : kFormats) {
    const Gaussians three = whole_number_gaussians(3, 0);
    const std::string header = "ply\nformat " + format + " 1.0\n" + element_header("face", 3, face) +
                               element_header("camera", 3, camera) + "element nothing 4000000000\n" +
                               element_header("vertex", 4, columns) + element_header("edge", 3, face) +
                               "end_header\n";
    const std::string before = rows(three, face, format) + rows(three, camera, format);
    const std::string vertices = rows(gaussians, columns, format);
    const std::string whole = header + before + vertices + rows(three, face, format);
    EXPECT_TRUE(same_bits(load_bytes(whole), gaussians)) << format;
    // If the file ends in an earlier element, the error names that element.
    EXPECT_EQ(complaint(header), "face 0: the file is truncated");
    EXPECT_EQ(complaint(header + rows(three, face, format) + rows(three, camera, format).substr(0, 9)),
              "camera 1: the file is truncated");
    EXPECT_EQ(complaint(header + before), "vertex 0: the file is truncated");
  }
}

TEST(Ply, ReadsCommentsAndWindowsLineEndings) {
  const Gaussians gaussians = whole_number_gaussians(3, 1);
  for (const std::string& format : kFormats) {
    std::string header =
        "ply\nformat " + format + " 1.0\ncomment Generated by something: element vertex 9\n" +
        "obj_info num_cols 3\ncomment\n\n" + element_header("vertex", 3, usual_columns(1, "float")) +
        "comment last\nend_header\n";
    std::string windows;
    for (const char c : header) windows += c == '\n' ? "\r\n" : std::string(1, c);
    const std::string data = rows(gaussians, usual_columns(1, "float"), format);
    EXPECT_TRUE(same_bits(load_bytes(windows + data), gaussians)) << format;
  }
}

TEST(Ply, ReadsIrregularAscii) {
  std::string header = ply_file(make_gaussians(0, 0), usual_columns(0, "float", false), "ascii");
  header.replace(header.find("vertex 0"), 8, "vertex 2");
  const Gaussians gaussians =
      load_bytes(header +
                 "nan  -inf\tinf +1 1e5 -1.5E-3 .5 5. 0 -nan(ind) NaN Infinity +.5 1e-60\r\n"
                 "\n 1 2 3 4 5 6 7 8 9 10 11 12 13 1e60  \n\n");
  EXPECT_TRUE(std::isnan(gaussians.mean[0].x));
  EXPECT_EQ(gaussians.mean[0].y, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(gaussians.mean[0].z, std::numeric_limits<float>::infinity());
  EXPECT_EQ(gaussians.sh[0], Vec3f(1, 1e5f, -1.5e-3f));
  EXPECT_EQ(gaussians.logit_opacity[0], 0.5f);
  EXPECT_EQ(gaussians.log_scale[0].x, 5);
  EXPECT_TRUE(std::isnan(gaussians.log_scale[0].z));
  EXPECT_TRUE(std::isnan(gaussians.rotation[0].x));
  EXPECT_EQ(gaussians.rotation[0].y, std::numeric_limits<float>::infinity());
  EXPECT_EQ(gaussians.rotation[0].z, 0.5f);
  EXPECT_EQ(gaussians.rotation[0].w, 0);
  EXPECT_EQ(gaussians.rotation[1].z, 13);
  EXPECT_EQ(gaussians.rotation[1].w, std::numeric_limits<float>::infinity());
}

TEST(Ply, IgnoresLocale) {
  const char* const before = std::setlocale(LC_ALL, nullptr);
  const std::string saved = before ? before : "C";
  if (!std::setlocale(LC_ALL, "de_DE.UTF-8"))
    GTEST_SKIP() << "the locale de_DE.UTF-8, which has a decimal comma, is not installed";
  Gaussians gaussians = whole_number_gaussians(1, 0);
  gaussians.mean[0].x = 0.25f;
  EXPECT_TRUE(same_bits(load_bytes(ply_file(gaussians, usual_columns(0, "float"), "ascii")), gaussians));
  std::setlocale(LC_ALL, saved.c_str());
}

TEST(Ply, ReadsDiscAsFlatGaussian) {
  std::vector<Column> columns = usual_columns(0, "float");
  columns.erase(
      std::find_if(columns.begin(), columns.end(), [](const Column& c) { return c.name == "scale_2"; }));
  const Gaussians gaussians =
      load_bytes(ply_file(whole_number_gaussians(3, 0), columns, "binary_little_endian"));
  for (const Vec3f& log_scale : gaussians.log_scale) EXPECT_FLOAT_EQ(log_scale.z, std::log(1e-7f));
}

}  // namespace
}  // namespace stipple
