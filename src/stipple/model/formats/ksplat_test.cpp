// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/ksplat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "stipple/model/formats/quantise.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
  if (bytes.size() < at + sizeof(T)) bytes.resize(at + sizeof(T));
  std::memcpy(bytes.data() + at, &value, sizeof(T));
}

template <class T>
void append(std::string& bytes, T value) {
  put(bytes, bytes.size(), value);
}

// Halves of the few numbers that the tests use: powers of two and small multiples of them.
std::uint16_t half(float value) {
  int exponent = 0;
  const float mantissa = std::frexp(std::abs(value), &exponent);  // in [0.5, 1)
  if (value == 0) return 0;
  return static_cast<std::uint16_t>((value < 0 ? 0x8000 : 0) | (exponent + 14) << 10 |
                                    static_cast<int>((2 * mantissa - 1) * 1024));
}

void append_number(std::string& bytes, float value, int level) {
  level == 0 ? append(bytes, value) : append(bytes, half(value));
}

constexpr std::size_t kFirstSection = 4096, kSecondSection = kFirstSection + 1024,
                      kData = kSecondSection + 1024;

// The value of the coefficient at this place of a row; at level 2, as a byte.
int harmonic(std::size_t row, int index) { return static_cast<int>(row) * 40 + index; }

// A section with buckets of two rows: one that is full, and two with one row each.
std::string section_data(int level, int degree, std::size_t max_count) {
  std::string data;
  if (level > 0) {
    for (int i = 0; i < 2; ++i) append(data, 1u);
    for (const float center : {10.0f, 20.0f, 30.0f})  // the same on all axes
      for (int axis = 0; axis < 3; ++axis) append(data, center);
  }
  const int rest_count = 3 * ((degree + 1) * (degree + 1) - 1);
  for (std::size_t row = 0; row < max_count; ++row) {
    for (int axis = 0; axis < 3; ++axis) {
      if (level == 0) {
        append(data, static_cast<float>(row) + 0.25f * static_cast<float>(axis));
      } else {
        append(data,
               static_cast<std::uint16_t>(100 + 10 * axis));  // of 0 to 200, so 0, 0.1, 0.2 of half a block
      }
    }
    for (const float scale : {0.5f, 1.0f, 0.0f}) append_number(data, scale, level);
    for (const float component : {0.0f, -0.5f, 0.25f, 1.0f}) append_number(data, component, level);
    for (const int byte : {0, 51, 255, 128}) append(data, static_cast<unsigned char>(byte));
    for (int i = 0; i < rest_count; ++i) {
      if (level == 2) {
        append(data, static_cast<unsigned char>(harmonic(row, i)));
      } else {
        append_number(data, static_cast<float>(harmonic(row, i)), level);
      }
    }
  }
  return data;
}

// Two sections with 4 and 3 rows. The second has degree 1 and space for 5.
std::string ksplat_file(int level, int degree) {
  std::string file(kData, '\0');
  file[1] = 1;
  put(file, 4, 2u);
  put(file, 8, 2u);
  put(file, 12, 9u);
  put(file, 16, 7u);
  put(file, 20, static_cast<std::uint16_t>(level));
  put(file, 36, -2.0f);
  put(file, 40, 2.0f);
  for (const std::size_t at : {kFirstSection, kSecondSection}) {
    put(file, at, at == kFirstSection ? 4u : 3u);
    put(file, at + 4, at == kFirstSection ? 4u : 5u);
    put(file, at + 40, static_cast<std::uint16_t>(at == kFirstSection ? degree : 1));
    if (level == 0) continue;
    put(file, at + 8, 2u);   // rows of a full bucket
    put(file, at + 12, 3u);  // buckets
    put(file, at + 16, 8.0f);
    put(file, at + 20, static_cast<std::uint16_t>(12));
    put(file, at + 24, 100u);
    put(file, at + 32, 1u);
    put(file, at + 36, 2u);
  }
  return file + section_data(level, degree, 4) + section_data(level, 1, 5);
}

TEST(Ksplat, ReadsAllLevelsAndDegrees) {
  TestFolder folder;
  for (int level = 0; level <= 2; ++level) {
    for (int degree = 0; degree <= 3; ++degree) {
      ModelFacts facts;
      const Gaussians g = load_model(folder.write("a.ksplat", ksplat_file(level, degree)), &facts);
      EXPECT_EQ(facts.format, ".ksplat");
      ASSERT_EQ(g.size(), 7u);
      ASSERT_EQ(g.sh_degree, std::max(degree, 1));
      for (std::size_t i = 0; i < 7; ++i) {
        const std::size_t row = i < 4 ? i : i - 4;
        const float bucket = row < 2 ? 10 : row == 2 ? 20 : 30;
        for (int axis = 0; axis < 3; ++axis) {
          const auto a = static_cast<float>(axis);
          const float expected = level == 0 ? static_cast<float>(row) + 0.25f * a : bucket + 0.4f * a;
          EXPECT_NEAR(g.mean[i][axis], expected, 1e-5f);
        }
        EXPECT_NEAR(g.log_scale[i].x, std::log(0.5f), 1e-6f);
        EXPECT_EQ(g.log_scale[i].y, 0);
        EXPECT_LT(g.log_scale[i].z, -80);
        EXPECT_TRUE(std::isfinite(g.log_scale[i].z));
        EXPECT_EQ(g.rotation[i], Vec4f(0, -0.5f, 0.25f, 1));
        EXPECT_EQ(opacity_byte(g.logit_opacity[i]), 128);
        const std::size_t at = i * static_cast<std::size_t>(g.sh_count());
        EXPECT_NEAR(color_from_base(g.sh[at].x), 0, 1e-6f);
        EXPECT_NEAR(color_from_base(g.sh[at].y), 0.2f, 1e-6f);
        EXPECT_NEAR(color_from_base(g.sh[at].z), 1, 1e-6f);
        const int own_degree = i < 4 ? degree : 1;
        for (int k = 1; k < g.sh_count(); ++k) {
          const int l = static_cast<int>(std::sqrt(static_cast<float>(k)));
          for (int channel = 0; channel < 3; ++channel) {
            const int index = 3 * (l * l - 1) + channel * (2 * l + 1) + k - l * l;
            const auto number = static_cast<float>(harmonic(row, index));
            const float expected = l > own_degree ? 0 : level < 2 ? number : number / 255 * 4 - 2;
            EXPECT_NEAR(g.sh[at + static_cast<std::size_t>(k)][channel], expected, 1e-5f)
                << level << k << channel;
          }
        }
      }
    }
  }
}

TEST(Ksplat, HeadersThatLieAreErrors) {
  TestFolder folder;
  const std::string whole = ksplat_file(1, 1);
  const auto complaint = [&](std::size_t at, auto value) {
    std::string file = whole;
    put(file, at, value);
    const std::filesystem::path path = folder.write("a.ksplat", file);
    const std::string message = error_of([&] { load_model(path); });
    EXPECT_TRUE(message.starts_with(path.string() + ": ")) << message;
    return message.substr(std::min(message.size(), path.string().size() + 2));
  };
  constexpr std::uint32_t kMax = 0xffffffff;
  EXPECT_EQ(complaint(0, '\1'), "this is not a .ksplat file of version 0.1 (but 1.1)");
  EXPECT_EQ(complaint(20, '\3'), "the compression level 3 is not known; 0 to 2 are");
  EXPECT_EQ(complaint(8, 3u), "the header declares 3 sections, but space for 2");
  EXPECT_EQ(complaint(4, kMax), "the 4294967295 sections that the header declares do not fit into the file");
  EXPECT_EQ(complaint(16, 8u), "the header declares 8 Gaussians, but its sections 7");
  EXPECT_EQ(complaint(kFirstSection, 5u), "section 0 has 5 Gaussians, but space for 4");
  EXPECT_EQ(complaint(kSecondSection + 40, '\4'),
            "section 1 has spherical harmonics of degree 4; the maximum is 3");
  EXPECT_EQ(complaint(kFirstSection + 20, '\4'), "the buckets of section 0 have 4 bytes instead of 12");
  EXPECT_EQ(complaint(kFirstSection + 32, 2u), "section 0 has 3 buckets, of which 2 are full and 2 are not");
  EXPECT_EQ(complaint(kFirstSection + 8, 1u), "buckets for 1 of 4 Gaussians are missing");
  EXPECT_NE(complaint(kFirstSection + 4, kMax).find("but the file has"), std::string::npos);
  EXPECT_NE(complaint(kFirstSection + 12, kMax).find("but the file has"), std::string::npos);
  EXPECT_NE(complaint(kFirstSection + 36, kMax).find("of which 1 are full"), std::string::npos);
}

TEST(Ksplat, CutAndAlteredFilesAreSurvived) {
  TestFolder folder;
  for (int level = 0; level <= 2; ++level) {
    const std::string whole = ksplat_file(level, 1);
    // Most of the headers is not in use: a few cuts there are enough.
    for (std::size_t length = 0; length < whole.size(); length += length < kData ? 499 : 1) {
      const std::filesystem::path path = folder.write("a.ksplat", whole.substr(0, length));
      const std::string message = error_of([&] { load_model(path); });
      EXPECT_TRUE(message.starts_with(path.string() + ": ")) << length << message;
    }
    expect_flips_are_survived(folder, "a.ksplat", whole, 100, [](const auto& path) { load_model(path); });
  }
}

TEST(Ksplat, IsOnlyRead) {
  EXPECT_NE(error_of([] { check_model_name("a.ksplat"); }).find("can be read, but not written"),
            std::string::npos);
}

}  // namespace
}  // namespace stipple
