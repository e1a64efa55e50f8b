// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/splat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "stipple/core/parallel.h"
#include "stipple/edit/select.h"
#include "stipple/model/formats/quantise.h"
#include "tests/helpers/sample_models.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

TEST(Splat, RoundTripStaysWithinAStep) {
  TestFolder folder;
  for (const int degree : {0, 3}) {
    const Gaussians model = trained_looking_model(500, degree);
    save_model(model, folder / "a.splat");
    EXPECT_EQ(std::filesystem::file_size(folder / "a.splat"), 32 * model.size());
    ModelFacts facts;
    Gaussians back = load_model(folder / "a.splat", &facts);
    EXPECT_EQ(facts.format, ".splat");
    EXPECT_FALSE(facts.antialiased.has_value());
    ASSERT_EQ(back.size(), model.size());
    EXPECT_EQ(back.sh_degree, 0);
    keep_rows(nearest_gaussians(model, back), back);
    for (std::size_t i = 0; i < model.size(); ++i) {
      EXPECT_EQ(back.mean[i], model.mean[i]);
      const Vec3f base = model.sh[i * static_cast<std::size_t>(model.sh_count())];
      for (int k = 0; k < 3; ++k) {
        EXPECT_NEAR(back.log_scale[i][k], model.log_scale[i][k], 1e-6f);
        const float color = std::clamp(color_from_base(base[k]), 0.0f, 1.0f);
        EXPECT_NEAR(color_from_base(back.sh[i][k]), color, 0.501f / 255);
      }
      EXPECT_LE(opacity_difference(back.logit_opacity[i], model.logit_opacity[i]), 0.501f / 255);
      EXPECT_LE(rotation_difference(back.rotation[i], model.rotation[i]), std::sqrt(3.0f) / 128);
    }
  }
}

TEST(Splat, LargestGaussiansComeFirst) {
  TestFolder folder;
  save_model(trained_looking_model(1000, 0), folder / "a.splat");
  const Gaussians back = load_model(folder / "a.splat");
  const auto size = [&](std::size_t i) {
    return std::exp(back.log_scale[i].x + back.log_scale[i].y + back.log_scale[i].z) *
           from_unorm(opacity_byte(back.logit_opacity[i]), 255);
  };
  for (std::size_t i = 1; i < back.size(); ++i) EXPECT_LE(size(i), size(i - 1) * 1.00001f);
}

TEST(Splat, SavingWhatWasLoadedGivesTheSameBytes) {
  TestFolder folder;
  const Gaussians model = trained_looking_model(40'000, 1);
  save_model(model, folder / "a.splat");
  save_model(load_model(folder / "a.splat"), folder / "b.splat");
  EXPECT_TRUE(read_file(folder / "a.splat") == read_file(folder / "b.splat"));
  with_threads(3, [&] { save_model(model, folder / "c.splat"); });
  EXPECT_TRUE(read_file(folder / "a.splat") == read_file(folder / "c.splat"));
}

TEST(Splat, BytesHaveTheirPlaces) {
  TestFolder folder;
  Gaussians model = make_gaussians(1, 0);
  model.mean[0] = {1, -2, 3};
  model.log_scale[0] = {0, std::log(2.0f), std::log(0.5f)};
  model.sh[0] = {base_from_color(0.2f), base_from_color(0.6f), 99};
  model.logit_opacity[0] = 0;
  model.rotation[0] = {1, 0, -1, 0};
  save_model(model, folder / "a.splat");
  const std::string bytes = read_file(folder / "a.splat");
  ASSERT_EQ(bytes.size(), 32u);
  const float floats[] = {1, -2, 3, 1, 2, 0.5f};
  EXPECT_EQ(std::memcmp(bytes.data(), floats, sizeof(floats)), 0);
  const unsigned char rest[] = {51, 153, 255, 128, 219, 128, 37, 128};
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(static_cast<unsigned char>(bytes[24 + i]), rest[i]) << i;
}

TEST(Splat, TakesNumbersThatAreNotFinite) {
  TestFolder folder;
  const Gaussians model = hostile_model(500, 1);
  save_model(model, folder / "a.splat");
  const Gaussians back = load_model(folder / "a.splat");
  EXPECT_EQ(back.size(), model.size());
  for (std::size_t i = 0; i < back.size(); ++i) {
    for (int k = 0; k < 3; ++k) {
      EXPECT_TRUE(std::isfinite(back.log_scale[i][k]));
      EXPECT_TRUE(std::isfinite(back.sh[i][k]));
    }
    EXPECT_TRUE(std::isfinite(back.logit_opacity[i]));
    EXPECT_NEAR(dot(back.rotation[i], back.rotation[i]), 1, 0.05f);
  }
  save_model(back, folder / "b.splat");
  EXPECT_TRUE(read_file(folder / "a.splat") == read_file(folder / "b.splat"));
}

// Every file whose size fits is a model, so zeros are as well.
TEST(Splat, TakesAnyBytes) {
  TestFolder folder;
  EXPECT_EQ(load_model(folder.write("a.splat", "")).size(), 0u);
  for (const char byte : {'\0', '\x7f', '\xff'}) {
    const Gaussians model = load_model(folder.write("a.splat", std::string(320, byte)));
    ASSERT_EQ(model.size(), 10u);
    EXPECT_GT(dot(model.rotation[0], model.rotation[0]), 0);
    save_model(model, folder / "b.splat");
  }
}

// A .splat has no mark of its own and starts with a coordinate, whose bytes may be those that other formats
// start with.
TEST(Splat, IsNotTakenForAnotherFormat) {
  TestFolder folder;
  for (const char* start : {"\x1f\x8b\x08\x41", "\x1f\x8b\x7a\xbf", "ply\x3f", "PK\x3\x40", "{\"m\x40"}) {
    Gaussians model = make_gaussians(1, 0);
    std::memcpy(&model.mean[0].x, start, 4);
    save_model(model, folder.path() / "a.splat");
    ModelFacts facts;
    EXPECT_EQ(load_model(folder.path() / "a.splat", &facts).mean[0].x, model.mean[0].x);
    EXPECT_EQ(facts.format, ".splat");
  }
}

TEST(Splat, OddSizesAreErrors) {
  TestFolder folder;
  for (std::size_t size = 1; size < 100; ++size) {
    if (size % 32 == 0) continue;
    const std::filesystem::path path = folder.write("a.splat", std::string(size, 'x'));
    EXPECT_TRUE(error_of([&] { load_model(path); }).starts_with(path.string() + ": the size of a .splat"));
  }
}

}  // namespace
}  // namespace stipple
