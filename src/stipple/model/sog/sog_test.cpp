// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/sog/sog.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "stipple/core/curve_order.h"
#include "stipple/core/parallel.h"
#include "stipple/edit/select.h"
#include "stipple/model/sog/sog_files.h"
#include "stipple/model/sog/sog_image.h"
#include "tests/helpers/sample_models.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

// In the order in which it is saved.
Gaussians sorted_model(std::size_t count, int sh_degree) {
  Gaussians model = trained_looking_model(count, sh_degree);
  keep_rows(curve_order(model.mean), model);
  return model;
}

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return at == std::string::npos ? text : text.replace(at, what.size(), by);
}

void expect_near(const Gaussians& back, const Gaussians& model) {
  ASSERT_EQ(back.size(), model.size());
  ASSERT_EQ(back.sh_degree, model.sh_degree);
  Vec3f low(1e9f, 1e9f, 1e9f), high(-1e9f, -1e9f, -1e9f);
  const auto log1 = [](float x) { return std::copysign(std::log1p(std::abs(x)), x); };
  for (const Vec3f& mean : model.mean)
    for (int k = 0; k < 3; ++k) {
      low[k] = std::min(low[k], log1(mean[k]));
      high[k] = std::max(high[k], log1(mean[k]));
    }
  const auto per_gaussian = static_cast<std::size_t>(model.sh_count());
  double scale_error = 0, color_error = 0;
  for (std::size_t i = 0; i < model.size(); ++i) {
    for (int k = 0; k < 3; ++k) {
      const float step = (high[k] - low[k]) / 65535;
      EXPECT_NEAR(log1(back.mean[i][k]), log1(model.mean[i][k]), 0.51f * step + 1e-6f);
      scale_error += std::pow(back.log_scale[i][k] - model.log_scale[i][k], 2);
      color_error += std::pow(back.sh[i * per_gaussian][k] - model.sh[i * per_gaussian][k], 2);
    }
    EXPECT_LE(opacity_difference(back.logit_opacity[i], model.logit_opacity[i]), 0.501f / 255);
    EXPECT_LE(rotation_difference(back.rotation[i], model.rotation[i]), std::sqrt(3.0f) / 128);
  }
  // Values of a width of 2 and of 0.8, in 256 levels.
  const auto n = static_cast<double>(3 * model.size());
  EXPECT_LT(std::sqrt(scale_error / n), 0.02);
  EXPECT_LT(std::sqrt(color_error / n), 0.008);
}

TEST(Sog, RoundTripStaysWithinAStep) {
  TestFolder folder;
  for (const int degree : {0, 1, 2, 3}) {
    const Gaussians model = sorted_model(700, degree);
    save_model(model, folder / "a.sog");
    ModelFacts facts;
    const Gaussians back = load_model(folder / "a.sog", &facts);
    EXPECT_EQ(facts.format, "SOG version 2");
    EXPECT_FALSE(facts.antialiased.has_value());
    expect_near(back, model);
  }
}

// How much of the harmonics of degree 1 and above is lost.
double lost_harmonics(const Gaussians& back, const Gaussians& model) {
  double error = 0, square = 0;
  const auto per_gaussian = static_cast<std::size_t>(model.sh_count());
  for (std::size_t i = 0; i < model.sh.size(); ++i) {
    if (i % per_gaussian == 0) continue;
    error += dot(back.sh[i] - model.sh[i], back.sh[i] - model.sh[i]);
    square += dot(model.sh[i], model.sh[i]);
  }
  return error / square;
}

TEST(Sog, HarmonicsOfAFewKindsAreKept) {
  TestFolder folder;
  Gaussians model = sorted_model(3000, 3);
  for (std::size_t i = 0; i < model.size(); ++i)  // 100 kinds
    std::copy_n(&model.sh[i % 100 * 16 + 1], 15, &model.sh[i * 16 + 1]);
  save_model(model, folder / "a.sog");
  EXPECT_LT(lost_harmonics(load_model(folder / "a.sog"), model), 1e-4);
}

TEST(Sog, MoreHarmonicsThanThePaletteHoldsAreRounded) {
  TestFolder folder;
  const Gaussians model = sorted_model(3000, 1);  // a palette of 2,048
  save_model(model, folder / "a.sog");
  EXPECT_LT(lost_harmonics(load_model(folder / "a.sog"), model), 0.1);
}

TEST(Sog, SavingWhatWasLoadedChangesNothing) {
  TestFolder folder;
  save_model(trained_looking_model(3000, 2), folder / "a.sog");
  const Gaussians once = load_model(folder / "a.sog");
  save_model(once, folder / "b.sog");
  Gaussians twice = load_model(folder / "b.sog");
  keep_rows(nearest_gaussians(once, twice), twice);  // rounding can exchange neighbours on the curve
  for (std::size_t i = 0; i < once.size(); ++i)
    for (int k = 0; k < 3; ++k)
      EXPECT_NEAR(twice.mean[i][k], once.mean[i][k], 1e-6f * (1 + std::abs(once.mean[i][k])));
  EXPECT_EQ(twice.log_scale, once.log_scale);
  EXPECT_EQ(twice.rotation, once.rotation);
  EXPECT_EQ(twice.logit_opacity, once.logit_opacity);
  EXPECT_EQ(twice.sh, once.sh);
}

TEST(Sog, AntialiasedIsKept) {
  TestFolder folder;
  SaveModelOptions options;
  options.antialiased = true;
  save_model(trained_looking_model(5, 1), folder / "a.sog", options);
  ModelFacts facts;
  load_model(folder / "a.sog", &facts);
  EXPECT_EQ(facts.antialiased, true);
}

TEST(Sog, ThreadsMakeNoDifference) {
  TestFolder folder;
  const Gaussians model = trained_looking_model(3000, 3);
  with_threads(1, [&] { save_model(model, folder / "a.sog"); });
  with_threads(5, [&] { save_model(model, folder / "b.sog"); });
  EXPECT_EQ(read_file(folder / "a.sog"), read_file(folder / "b.sog"));
}

TEST(Sog, AFolderHoldsTheSameAsAnArchive) {
  TestFolder folder;
  const Gaussians model = trained_looking_model(300, 1);
  save_model(model, folder / "a.sog");
  save_model(model, folder / "new" / "meta.json");
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "new"))
    names.insert(entry.path().filename().string());
  EXPECT_EQ(names,
            (std::set<std::string>{"means_l.webp", "means_u.webp", "meta.json", "quats.webp", "scales.webp",
                                   "sh0.webp", "shN_centroids.webp", "shN_labels.webp"}));
  const Gaussians zipped = load_model(folder / "a.sog");
  for (const std::filesystem::path& path : {folder / "new", folder / "new" / "meta.json"}) {
    const Gaussians loose = load_model(path);
    EXPECT_EQ(loose.mean, zipped.mean);
    EXPECT_EQ(loose.sh, zipped.sh);
  }
}

TEST(Sog, EveryNumberOfGaussiansFits) {
  TestFolder folder;
  for (const std::size_t count : {1, 2, 15, 16, 17, 64, 65}) {
    const Gaussians model = sorted_model(count, 1);
    save_model(model, folder / "a.sog");
    expect_near(load_model(folder / "a.sog"), model);
  }
}

TEST(Sog, InfiniteOpacitiesAreKeptAndOtherSuchValuesRefused) {
  TestFolder folder;
  Gaussians model = trained_looking_model(10, 1);
  model.logit_opacity[3] = INFINITY;
  model.logit_opacity[4] = -INFINITY;
  model.rotation[5] = {0, 0, 0, 0};
  save_model(model, folder / "a.sog");
  EXPECT_EQ(load_model(folder / "a.sog").size(), 10);
  model.sh[7].y = NAN;  // of Gaussian 1
  EXPECT_NE(error_of([&] { save_model(model, folder / "b.sog"); }).find("b.sog: Gaussian 1 has"),
            std::string::npos);
  EXPECT_NE(error_of([&] { save_model(hostile_model(100, 2), folder / "b.sog"); }), "");
  EXPECT_NE(error_of([&] { save_model(Gaussians(), folder / "b.sog"); }), "");
  EXPECT_FALSE(std::filesystem::exists(folder / "b.sog"));
}

// Version 1 stores ranges instead of codebooks, and the logit of the opacity.
void write_version_1(const std::filesystem::path& path) {
  const auto image = [](int width, std::vector<std::uint8_t> texels) {
    SogImage result(width, 4);
    std::copy(texels.begin(), texels.end(), result.rgba.begin());
    return encode_webp(result);
  };
  SogImage palette(192, 1);  // degree 1
  const std::vector<std::uint8_t> entry_1 = {0, 51, 102, 0, 153, 204, 255, 0, 0, 0, 0, 0};
  std::copy(entry_1.begin(), entry_1.end(), palette.texel(3));
  const std::string meta = R"({
    "means": {"shape": [2, 3], "dtype": "float32", "mins": [0, -1, 0], "maxs": [1, 1, 2], "files": ["ml", "mu"]},
    "scales": {"shape": [2, 3], "mins": [-5, -6, -7], "maxs": [0, 0, 0], "files": ["s"]},
    "quats": {"shape": [2, 4], "encoding": "quaternion_packed", "files": ["q"]},
    "sh0": {"shape": [2, 1, 4], "mins": [-1, -1, -1, -10], "maxs": [1, 2, 3, 10], "files": ["c"]},
    "shN": {"shape": [2, 3], "mins": -1, "maxs": 1, "quantization": 8, "files": ["p", "l"]}})";
  const auto* bytes = reinterpret_cast<const std::byte*>(meta.data());
  const std::vector<NamedBytes> files = {{"meta.json", {bytes, bytes + meta.size()}},
                                         {"ml", image(4, {0, 0, 255, 255, 255, 255, 0, 255})},
                                         {"mu", image(4, {0, 0, 255, 255, 255, 255, 0, 255})},
                                         {"s", image(4, {0, 255, 51, 255, 255, 255, 255, 255})},
                                         {"q", image(4, {128, 128, 128, 252, 0, 0, 0, 7})},
                                         {"c", image(4, {0, 255, 51, 255, 255, 0, 0, 0})},
                                         {"p", encode_webp(palette)},
                                         {"l", image(4, {1, 0, 0, 255, 0, 0, 0, 255})}};
  write_zip(path, files);
}

TEST(Sog, Version1IsRead) {
  TestFolder folder;
  write_version_1(folder / "a.sog");
  ModelFacts facts;
  const Gaussians g = load_model(folder / "a.sog", &facts);
  EXPECT_EQ(facts.format, "SOG version 1");
  ASSERT_EQ(g.size(), 2);
  ASSERT_EQ(g.sh_degree, 1);
  const auto expect_vec = [](const Vec3f& a, float x, float y, float z) {
    EXPECT_NEAR(a.x, x, 1e-5f);
    EXPECT_NEAR(a.y, y, 1e-5f);
    EXPECT_NEAR(a.z, z, 1e-5f);
  };
  const float e = 2.7182818f;
  expect_vec(g.mean[0], 0, 1 - e, e * e - 1);
  expect_vec(g.mean[1], e - 1, e - 1, 0);
  expect_vec(g.log_scale[0], -5, 0, -7 + 7 * 0.2f);
  expect_vec(g.sh[0], -1, 2, -1 + 4 * 0.2f);
  EXPECT_FLOAT_EQ(g.logit_opacity[0], 10);
  EXPECT_FLOAT_EQ(g.logit_opacity[1], -10);
  EXPECT_LT(rotation_difference(g.rotation[0], {1, 0, 0, 0}), 0.01f);
  EXPECT_EQ(g.rotation[1], Vec4f(1, 0, 0, 0));  // 7 is not a component
  expect_vec(g.sh[1], -1, -0.6f, -0.2f);
  expect_vec(g.sh[2], 0.2f, 0.6f, 1);
}

TEST(Sog, ASummaryTellsWhatLoadingGives) {
  TestFolder folder;
  write_version_1(folder / "old.sog");
  SaveModelOptions options;
  options.antialiased = true;
  save_model(trained_looking_model(300, 3), folder / "a.sog", options);
  save_model(trained_looking_model(5, 0), folder / "loose" / "meta.json");
  for (const char* name : {"old.sog", "a.sog", "loose/meta.json"}) {
    ModelFacts facts;
    const Gaussians model = load_sog(folder / name, facts);
    const SogSummary summary = summarise_sog(folder / name);
    EXPECT_EQ(summary.count, model.size());
    EXPECT_EQ(summary.sh_degree, model.sh_degree);
    EXPECT_EQ(summary.antialiased, facts.antialiased.value_or(false));
  }
}

TEST(Sog, TruncatedAndAlteredArchivesAreErrors) {
  TestFolder folder;
  save_model(trained_looking_model(3, 1), folder / "a.sog");
  const std::string whole = read_file(folder / "a.sog");
  expect_flips_are_survived(folder, "b.sog", whole, 300, [](const auto& path) { load_model(path); });
  for (std::size_t length = 0; length < whole.size(); length += length < 64 ? 1 : 97) {
    const std::string message = error_of([&] { load_model(folder.write("b.sog", whole.substr(0, length))); });
    EXPECT_NE(message, "") << length;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

class LooseSog : public ::testing::Test {
 protected:
  LooseSog() {
    save_model(trained_looking_model(40, 1), folder_ / "meta.json");
    meta_ = read_file(folder_ / "meta.json");
  }
  // The error that a meta.json with this change leads to.
  std::string error_with(std::string_view what, std::string_view by) {
    folder_.write("meta.json", replaced(meta_, what, by));
    return error_of([&] { load_model(folder_.path()); });
  }

  TestFolder folder_;
  std::string meta_;
};

TEST_F(LooseSog, WrongClaimsAreErrors) {
  const auto expect_error = [&](std::string_view what, std::string_view by, std::string_view part) {
    const std::string message = error_with(what, by);
    EXPECT_NE(message.find(part), std::string::npos) << what << " -> " << by << ": " << message;
  };
  expect_error(R"("count":40)", R"("count":4000000000)", "cannot hold the 4000000000 Gaussians");
  expect_error(R"("count":40)", R"("count":18446744073709551615)", "cannot hold");
  expect_error(R"("count":40)", R"("count":0)", "cannot hold the 0 Gaussians");
  expect_error(R"("count":40)", R"("count":-1)", "count must be a whole number");
  expect_error(R"("count":40)", R"("count":5000)", "does not fit the model");
  expect_error(R"("version":2)", R"("version":3)", "only versions 1 and 2");
  expect_error(R"("means_l.webp")", R"("../means_l.webp")", "is not the name of a file in this folder");
  expect_error(R"("means_l.webp")", R"("/etc/passwd")", "is not the name of a file in this folder");
  expect_error(R"("means_l.webp")", R"("..")", "is not the name of a file in this folder");
  expect_error(R"("means_l.webp")", R"("gone.webp")", "gone.webp");
  expect_error(R"("means_l.webp")", R"("meta.json")", "not a WebP image");
  expect_error(R"("means_l.webp")", "7", "files must be names");
  expect_error(R"("mins":[)", R"("mins":[1e300,)", "must be logarithms of positions");
  expect_error(R"("mins":[)", R"("mins":[200,)", "mins and maxs must be logarithms of positions");
  expect_error(R"("mins":[)", R"("mins":[null,)", "mins must be finite numbers");
  expect_error(R"("mins":[)", R"("mins":[NaN,)", "not valid JSON");
  expect_error(R"("scales":{"codebook":[)", R"("scales":{"codebook":[1],"other":[)",
               "an array of 256 values");
  expect_error(R"("bands":1)", R"("bands":3)", "does not fit the model");
  expect_error(R"("bands":1)", R"("bands":4)", "bands must be 1, 2 or 3");
  expect_error(R"("bands":1)", R"("bands":null)", "bands must be");
  expect_error(R"("shN":{"count":)", R"("shN":{"count":65537,"was":)", "count must be from 1 to 65536");
  expect_error(R"("shN":{"count":)", R"("shN":{"count":3,"was":)", "of a palette of 3");
  expect_error(R"("shN":{)", R"("shN":[],"was":{)", "this is not an object");
  expect_error(R"("quats")", R"("quat")", "quats is missing");
}

TEST_F(LooseSog, ImagesOfOtherSizesAreErrors) {
  for (const int side : {4, 1000}) {
    const std::vector<std::byte> bytes = encode_webp(SogImage(side, side));
    folder_.write("quats.webp", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    EXPECT_NE(
        error_of([&] { load_model(folder_.path()); }).find(fmt::format("the size {}x{} does", side, side)),
        std::string::npos);
  }
}

TEST_F(LooseSog, AFolderWithoutMetaIsNotAModel) {
  std::filesystem::remove(folder_ / "meta.json");
  EXPECT_NE(error_of([&] { load_model(folder_.path()); }).find("has a lod-meta.json or a meta.json"),
            std::string::npos);
}

TEST(SogImage, KeepsEveryByte) {
  SogImage image(37, 5);
  for (std::size_t i = 0; i < image.rgba.size(); ++i) image.rgba[i] = static_cast<std::uint8_t>(i * i / 3);
  for (std::size_t i = 0; i < 40; ++i) image.texel(i)[3] = 0;  // colours must survive this
  EXPECT_EQ(decode_webp(encode_webp(image), "a", {1, 1000}).rgba, image.rgba);
}

}  // namespace
}  // namespace stipple
