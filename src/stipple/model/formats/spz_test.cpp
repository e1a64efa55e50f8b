// SPDX-License-Identifier: Apache-2.0
#include "stipple/model/formats/spz.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "stipple/core/parallel.h"
#include "stipple/edit/frame.h"
#include "stipple/edit/transform.h"
#include "stipple/math/math.h"
#include "stipple/model/formats/quantise.h"
#include "stipple/model/model_file.h"
#include "tests/helpers/ply_builder.h"
#include "tests/helpers/random_model.h"
#include "tests/helpers/sample_models.h"
#include "tests/helpers/source_folder.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

using M = Math<float>;

constexpr int kVersions[] = {2, 3, 4};

SaveModelOptions spz(int version, SpzFrame frame = SpzFrame::kRub) {
  SaveModelOptions options;
  options.spz_version = version;
  options.spz_frame = frame;
  return options;
}

LoadModelOptions in_frame(SpzFrame frame) {
  LoadModelOptions options;
  options.spz_frame = frame;
  return options;
}

// Decompresses and compresses with zlib alone.
std::string inflated(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(inflateInit2(&stream, 31), Z_OK);
  std::string result(1 << 20, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  EXPECT_EQ(stream.avail_in, 0u);
  inflateEnd(&stream);
  return result.substr(0, stream.total_out);
}

std::string gzipped(const std::string& bytes) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 31, 9, Z_DEFAULT_STRATEGY), Z_OK);
  std::string result(deflateBound(&stream, static_cast<uLong>(bytes.size())) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(result.data());
  stream.avail_out = static_cast<uInt>(result.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  deflateEnd(&stream);
  return result.substr(0, stream.total_out);
}

struct Tolerance {
  float mean, opacity, scale, color, degree1, rest;
  bool omits_w;                             // from rotations; otherwise the largest component
  float stored_component, other_component;  // of rotations
};

// Half a step of each field, and a little for rounding in float. Harmonics are first rounded to 1/128. The
// component of a rotation that is not stored follows from the others, and is less precise the smaller it is.
Tolerance half_steps(int version) {
  const bool omits_w = version == 2;
  return {0.501f / 4096,
          0.501f / 255,
          0.501f / 16,
          0.501f / 255 / 0.15f,
          0.501f / 16 + 0.5f / 128,
          0.501f / 8 + 0.5f / 128,
          omits_w,
          omits_w ? 0.51f / 127.5f : 0.501f / 511 * std::sqrt(0.5f),
          omits_w ? 0.118f : 0.003f};
}

void expect_close_rotations(Vec4f a, Vec4f b, const Tolerance& tolerance) {
  b = b * (1 / std::sqrt(dot(b, b)));
  if (dot(a, b) < 0) b = -b;
  const float from[] = {b.x, b.y, b.z, b.w}, to[] = {a.x, a.y, a.z, a.w};
  const float largest = std::max({std::abs(b.x), std::abs(b.y), std::abs(b.z), std::abs(b.w)});
  for (int i = 0; i < 4; ++i) {
    // After rounding, another component that is about as large may be the largest.
    const bool maybe_omitted = tolerance.omits_w ? i == 0 : std::abs(from[i]) > largest - 0.003f;
    EXPECT_NEAR(to[i], from[i], maybe_omitted ? tolerance.other_component : tolerance.stored_component);
  }
}

void expect_close(const Gaussians& a, const Gaussians& b, const Tolerance& tolerance) {
  ASSERT_EQ(a.size(), b.size());
  ASSERT_EQ(a.sh_degree, b.sh_degree);
  const auto sh_count = static_cast<std::size_t>(a.sh_count());
  for (std::size_t i = 0; i < a.size(); ++i) {
    SCOPED_TRACE(i);
    for (int c = 0; c < 3; ++c) {
      EXPECT_NEAR(a.mean[i][c], b.mean[i][c], tolerance.mean);
      EXPECT_NEAR(a.log_scale[i][c], b.log_scale[i][c], tolerance.scale);
      for (std::size_t k = 0; k < sh_count; ++k)
        EXPECT_NEAR(a.sh[i * sh_count + k][c], b.sh[i * sh_count + k][c],
                    k == 0  ? tolerance.color
                    : k < 4 ? tolerance.degree1
                            : tolerance.rest)
            << k;
    }
    EXPECT_NEAR(M::sigmoid(a.logit_opacity[i]), M::sigmoid(b.logit_opacity[i]), tolerance.opacity);
    expect_close_rotations(a.rotation[i], b.rotation[i], tolerance);
  }
}

TEST(Spz, RoundTripIsWithinHalfAStepPerField) {
  TestFolder folder;
  for (const int version : kVersions) {
    for (const SpzFrame frame : {SpzFrame::kRub, SpzFrame::kRdf}) {
      for (int degree = 0; degree <= 3; ++degree) {
        SCOPED_TRACE(
            fmt::format("version {}, frame {}, degree {}", version, static_cast<int>(frame), degree));
        const Gaussians before = random_model(300, degree);
        save_model(before, folder / "a.spz", spz(version, frame));
        ModelFacts facts;
        const Gaussians after = load_model(folder / "a.spz", &facts);
        expect_close(after, before, half_steps(version));
        EXPECT_EQ(facts.format, fmt::format("SPZ version {}", version));
        EXPECT_EQ(facts.left_out, "");
        EXPECT_EQ(facts.frame_is_assumed, version < 4 && frame == SpzFrame::kRub);
      }
    }
  }
}

TEST(Spz, SavingWhatWasLoadedGivesTheSameBytes) {
  TestFolder folder;
  for (const int version : kVersions) {
    for (const SpzFrame frame : {SpzFrame::kRub, SpzFrame::kRdf}) {
      Gaussians model = random_model(20'000, 1);
      for (std::size_t i = 0; i < model.size(); i += 2) model.rotation[i].x = 0;  // half turns: w is 0
      save_model(model, folder / "a.spz", spz(version, frame));
      save_model(load_model(folder / "a.spz"), folder / "b.spz", spz(version, frame));
      EXPECT_TRUE(read_file(folder / "a.spz") == read_file(folder / "b.spz")) << version;
    }
  }
}

TEST(Spz, WritesAnyValueAndReadsItAsAFiniteOne) {
  TestFolder folder;
  for (const int version : kVersions) {
    save_model(with_strange_values(random_model(2000, 3)), folder / "a.spz", spz(version));
    const Gaussians once = load_model(folder / "a.spz");
    EXPECT_TRUE(all_finite(once));
    save_model(once, folder / "b.spz", spz(version));
    EXPECT_TRUE(read_file(folder / "a.spz") == read_file(folder / "b.spz")) << version;
  }
}

// The format cannot say it, and the Gaussian must not appear at another place.
TEST(Spz, AGaussianWithoutAFiniteMeanBecomesInvisible) {
  TestFolder folder;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  Gaussians model = random_model(3, 0);
  model.logit_opacity = {2, 2, 2};
  model.mean[0].y = std::numeric_limits<float>::quiet_NaN();
  model.mean[1].z = -kInfinity;
  for (const int version : kVersions) {
    save_model(model, folder / "a.spz", spz(version));
    const Gaussians back = load_model(folder / "a.spz");
    EXPECT_EQ(back.logit_opacity[0], logit_of_byte(0));
    EXPECT_EQ(back.logit_opacity[1], logit_of_byte(0));
    EXPECT_NEAR(back.logit_opacity[2], 2, 0.1f);
  }
}

TEST(Spz, TheBytesAreThoseOfTheFormat) {
  TestFolder folder;
  Gaussians model = make_gaussians(1, 1);
  model.mean[0] = {1, -2, 3.5f};
  model.log_scale[0] = {-10, -4, 20};
  model.rotation[0] = {0.8f, 0.2f, -0.4f, 0.4f};  // of length 1
  model.logit_opacity[0] = 0;
  model.sh = {{0, 1, -5}, {0.5f, -0.5f, 0}, {0.25f, 0, 0}, {1, -1, 0.26f}};
  save_model(model, folder / "a.spz");
  const auto field = [](float component) {  // of a rotation
    const auto magnitude =
        static_cast<std::uint32_t>(std::lround(511 * std::abs(component) * std::sqrt(2.0f)));
    return component < 0 ? 512 + magnitude : magnitude;
  };
  // x of the quaternion stays, y and z change their signs.
  const std::uint32_t rotation = 3u << 30 | field(0.2f) << 20 | field(0.4f) << 10 | field(-0.4f);
  const unsigned char expected[] = {0x4e,
                                    0x47,
                                    0x53,
                                    0x50,
                                    3,
                                    0,
                                    0,
                                    0,
                                    1,
                                    0,
                                    0,
                                    0,
                                    1,
                                    12,
                                    0,
                                    0,  // header
                                    0x00,
                                    0x10,
                                    0x00,
                                    0x00,
                                    0x20,
                                    0x00,
                                    0x00,
                                    0xc8,
                                    0xff,  // mean: 1, 2, -3.5
                                    128,
                                    128,
                                    166,
                                    0,  // opacity; colour
                                    0,
                                    96,
                                    255,  // scales
                                    rotation & 255,
                                    rotation >> 8 & 255,
                                    rotation >> 16 & 255,
                                    rotation >> 24,
                                    64,
                                    192,
                                    128,  // y changes its sign
                                    96,
                                    128,
                                    128,  // and so does z
                                    255,
                                    0,
                                    160};  // 33.28 rounds to 32
  EXPECT_EQ(inflated(read_file(folder / "a.spz")),
            std::string(reinterpret_cast<const char*>(expected), sizeof(expected)));
}

TEST(Spz, TheResultDoesNotDependOnThreads) {
  TestFolder folder;
  for (const int version : {3, 4}) {
    const Gaussians model = random_model(version == 3 ? 430'000 : 20'000, 0);  // 8.6 MB: more than one batch
    with_threads(1, [&] { save_model(model, folder / "a.spz", spz(version)); });
    with_threads(3, [&] { save_model(model, folder / "b.spz", spz(version)); });
    EXPECT_TRUE(read_file(folder / "a.spz") == read_file(folder / "b.spz")) << version;
    with_threads(3, [&] { expect_close(load_model(folder / "a.spz"), model, half_steps(version)); });
  }
}

TEST(Spz, KeepsWhetherTheModelIsAntialiased) {
  TestFolder folder;
  for (const int version : kVersions) {
    for (const bool antialiased : {false, true}) {
      SaveModelOptions options = spz(version);
      options.antialiased = antialiased;
      save_model(random_model(3, 0), folder / "a.spz", options);
      ModelFacts facts;
      load_model(folder / "a.spz", &facts);
      EXPECT_EQ(facts.antialiased, antialiased);
    }
  }
}

TEST(Spz, AnEmptyModelStaysOne) {
  TestFolder folder;
  for (const int version : kVersions) {
    save_model(make_gaussians(0, 2), folder / "a.spz", spz(version));
    const Gaussians model = load_model(folder / "a.spz");
    EXPECT_EQ(model.size(), 0u);
    EXPECT_EQ(model.sh_degree, 2);
  }
}

TEST(Spz, AFileThatDoesNotSayItsFrameIsReadInTheGivenOne) {
  TestFolder folder;
  const Gaussians model = random_model(50, 3);
  save_model(model, folder / "rdf.spz", spz(3, SpzFrame::kRdf));
  std::string bytes = inflated(read_file(folder / "rdf.spz"));
  bytes[14] = 0;  // no extensions
  folder.write("silent.spz", gzipped(bytes.substr(0, bytes.size() - 12)));
  expect_close(load_model(folder / "silent.spz", nullptr, in_frame(SpzFrame::kRdf)), model, half_steps(3));
  const Gaussians flipped = load_model(folder / "silent.spz");
  EXPECT_NEAR(flipped.mean[0].x, model.mean[0].x, 1e-3f);
  EXPECT_NEAR(flipped.mean[0].y, -model.mean[0].y, 1e-3f);
  EXPECT_NEAR(flipped.mean[0].z, -model.mean[0].z, 1e-3f);
  // What the file says takes precedence.
  expect_close(load_model(folder / "rdf.spz", nullptr, in_frame(SpzFrame::kRub)), model, half_steps(3));
  save_model(model, folder / "rub.spz", spz(4));
  expect_close(load_model(folder / "rub.spz", nullptr, in_frame(SpzFrame::kRdf)), model, half_steps(4));
}

TEST(Spz, EveryFrameThatAFileNamesIsKnown) {
  TestFolder folder;
  const Gaussians stored = random_model(20, 3);
  save_model(stored, folder / "rdf.spz", spz(4, SpzFrame::kRdf));  // in which nothing is flipped
  const char* const frames[] = {"ldb", "rdb", "lub", "rub", "ldf", "rdf", "luf", "ruf",
                                "lfd", "rfd", "lfu", "rfu", "lbd", "rbd", "lbu", "rbu"};
  for (std::size_t i = 0; i < std::size(frames); ++i) {
    SCOPED_TRACE(frames[i]);
    std::string bytes = read_file(folder / "rdf.spz");
    bytes[40] = static_cast<char>(i + 1);
    const Gaussians found = load_model(folder.write("a.spz", bytes));
    Gaussians expected = load_model(folder / "rdf.spz");
    transform(change_of_frame(frames[i], "rdf"), expected);
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const Mat3f a = M::covariance({found.log_scale[k], found.rotation[k]});
      const Mat3f b = M::covariance({expected.log_scale[k], expected.rotation[k]});
      for (int c = 0; c < 3; ++c) {
        EXPECT_FLOAT_EQ(found.mean[k][c], expected.mean[k][c]);
        for (int row = 0; row < 3; ++row) EXPECT_NEAR(a[c][row], b[c][row], 1e-4f);
        for (std::size_t j = 0; j < 16; ++j)
          EXPECT_NEAR(found.sh[k * 16 + j][c], expected.sh[k * 16 + j][c], 1e-5f);
      }
    }
  }
}

TEST(Spz, FarMeansGetFewerBitsAndAFewAreMovedToTheBorder) {
  TestFolder folder;
  Gaussians model = random_model(3000, 0);
  model.mean[7] = {1e9f, 2, -3};
  save_model(model, folder / "a.spz");
  Gaussians after = load_model(folder / "a.spz");
  EXPECT_FLOAT_EQ(after.mean[7].x, static_cast<float>((1 << 23) - 1) / 4096);
  after.mean[7] = model.mean[7];
  expect_close(after, model, half_steps(3));
  for (Vec3f& mean : model.mean) mean = mean * 1000;
  save_model(model, folder / "a.spz");
  Tolerance coarse = half_steps(3);
  coarse.mean = 0.501f / 256;
  model.mean[7] = {32767.996f, 2000, -3000};  // +-20,000 takes 15 bits and a sign, which leaves 8
  expect_close(load_model(folder / "a.spz"), model, coarse);
}

TEST(Spz, OnlyDeflateIsGzip) {
  const TestFolder folder;
  const auto error = [&](const char* method) {
    return error_of(
        [&] { load_model(folder.write("model", std::string("\x1f\x8b") + method + "0123456789")); });
  };
  EXPECT_NE(error("\x08").find("the compressed data are damaged"), std::string::npos) << error("\x08");
  EXPECT_NE(error("\x07").find("this is not a model in a known format"), std::string::npos) << error("\x07");
}

TEST(ModelFile, PathsThatCannotBeLookedAtAreErrors) {
  const TestFolder folder;
  std::filesystem::create_symlink("loop", folder / "loop");
  for (const std::filesystem::path& path : {folder / "loop", folder / std::string(300, 'x')}) {
    EXPECT_TRUE(error_of([&] { load_model(path); }).starts_with("cannot open " + path.string() + ": "));
    EXPECT_TRUE(error_of([&] { model_in_folder(path); }).starts_with("cannot open " + path.string() + "/"));
    EXPECT_TRUE(error_of([&] { main_file(path); }).starts_with("cannot open " + path.string() + ": "));
    EXPECT_TRUE(error_of([&] { model_bytes(path); }).starts_with("cannot open " + path.string() + ": "));
  }
}

TEST(Spz, RejectsVersionsThatAreNotWritten) {
  TestFolder folder;
  for (const int version : {-1, 0, 1, 5})
    EXPECT_EQ(error_of([&] { save_model(random_model(1, 0), folder / "a.spz", spz(version)); }),
              fmt::format("{}: version {} of the format is not one of 2, 3 and 4",
                          (folder / "a.spz").string(), version));
  EXPECT_EQ(folder.file_count(), 0u);
}

// --- files that others wrote

const std::filesystem::path kSamples = source_folder() / "tests/data/models/spz";

TEST(SpzSamples, AreReadAsTheModelTheyWereMadeFrom) {
  const struct {
    const char *name, *original;
    int version;
    SpzFrame frame;
  } samples[] = {{"adobe_2.spz", "original.ply", 2, SpzFrame::kRub},
                 {"adobe_3.spz", "original.ply", 3, SpzFrame::kRub},
                 {"adobe_4.spz", "original.ply", 4, SpzFrame::kRub},
                 {"splat_transform_3.spz", "original.ply", 3, SpzFrame::kRdf},
                 {"splat_transform_4.spz", "original.ply", 4, SpzFrame::kRdf},
                 {"spark_2.spz", "adobe_3.spz", 2, SpzFrame::kRub}};
  for (const auto& sample : samples) {
    SCOPED_TRACE(sample.name);
    ModelFacts facts;
    const Gaussians model = load_model(kSamples / sample.name, &facts, in_frame(sample.frame));
    expect_close(model, load_model(kSamples / sample.original), half_steps(sample.version));
    EXPECT_EQ(facts.format, fmt::format("SPZ version {}", sample.version));
    EXPECT_TRUE(facts.frame_is_assumed);
  }
}

TEST(SpzSamples, Degree4IsLeftOut) {
  const Gaussians original = load_model(kSamples / "original.ply");
  for (const char* name : {"adobe_3_degree_4.spz", "adobe_4_degree_4.spz"}) {
    ModelFacts facts;
    expect_close(load_model(kSamples / name, &facts), original, half_steps(3));
    EXPECT_EQ(facts.left_out, "spherical harmonics of degree 4");
  }
}

// Saving the model gives the bytes that Niantic's library has written.
TEST(SpzSamples, AreWrittenTheSame) {
  TestFolder folder;
  const Gaussians original = load_model(kSamples / "original.ply");
  for (const int version : {2, 3}) {
    save_model(original, folder / "a.spz", spz(version));
    EXPECT_EQ(inflated(read_file(folder / "a.spz")),
              inflated(read_file(kSamples / fmt::format("adobe_{}.spz", version))))
        << version;
  }
}

// --- damaged files

class SpzDamage : public ::testing::Test {
 protected:
  std::string saved(int version, SpzFrame frame = SpzFrame::kRub, int degree = 1) {
    save_model(random_model(4, degree), folder / "whole.spz", spz(version, frame));
    return read_file(folder / "whole.spz");
  }
  std::string complaint(const std::string& bytes) {
    const std::filesystem::path path = folder.write("a.spz", bytes);
    const std::string message = error_of([&] { load_model(path); });
    EXPECT_EQ(message.find(path.string()), 0u) << message;
    return message.substr(std::min(message.size(), path.string().size() + 2));
  }
  static std::string with_u32(const std::string& bytes, std::size_t offset, std::uint32_t value) {
    std::string changed(bytes);
    changed.replace(offset, sizeof(value), reinterpret_cast<const char*>(&value), sizeof(value));
    return changed;
  }
  TestFolder folder;
};

TEST_F(SpzDamage, EveryCutFails) {
  const auto load = [](const std::filesystem::path& path) { load_model(path); };
  for (const int version : kVersions) {
    const std::string whole = saved(version, SpzFrame::kRdf);
    expect_every_cut_fails(folder, "a.spz", whole, load);
    if (version == 4) continue;
    const std::string inner = inflated(whole);
    for (std::size_t length = 0; length < inner.size(); ++length) {
      if (length == inner.size() - 12) continue;  // an extension is missing, which nobody can tell
      EXPECT_NE(complaint(gzipped(inner.substr(0, length))), "") << version << " " << length;
    }
  }
}

TEST_F(SpzDamage, AlteredBytesAreSurvived) {
  const auto load = [](const std::filesystem::path& path) { load_model(path); };
  for (const int version : kVersions) {
    const std::string whole = saved(version, SpzFrame::kRdf);
    expect_flips_are_survived(folder, "a.spz", whole, 300, load);
    if (version == 4) continue;
    const std::string inner = inflated(whole);
    for (std::size_t i = 0; i < inner.size(); ++i) {
      std::string altered = inner;
      altered[i] = static_cast<char>(~altered[i]);
      folder.write("a.spz", gzipped(altered));
      error_of([&] { load(folder / "a.spz"); });
    }
  }
}

TEST_F(SpzDamage, HeadersThatCannotBeAreRejected) {
  const std::string inner = inflated(saved(3));
  const auto with = [&](std::size_t offset, char value) {
    std::string bytes = inner;
    bytes[offset] = value;
    return complaint(gzipped(bytes));
  };
  EXPECT_EQ(with(0, 'X'), "this is not an .spz file");
  EXPECT_EQ(with(4, 0), "version 0 of the format is not known");
  EXPECT_EQ(with(4, 5), "version 5 of the format is not known");
  EXPECT_EQ(with(4, 4), "version 4 of the format is not known inside of gzip");
  EXPECT_EQ(with(12, 5), "SH degree 5 is not one of 0 to 4");
  EXPECT_EQ(with(13, 31), "means cannot have 31 bits after the point");
  EXPECT_EQ(with(8, 3), "the file has more data than its header declares");
  EXPECT_EQ(with(8, 5), "the file is truncated");
}

TEST_F(SpzDamage, TheTableMustFitHeaderAndFile) {
  const std::string whole = saved(4);
  EXPECT_EQ(complaint(with_u32(whole, 4, 3)), "version 3 of the format is not known without gzip");
  EXPECT_EQ(complaint(with_u32(whole, 16, 31)), "the table of blocks is not where it should be");
  EXPECT_EQ(complaint(with_u32(whole, 16, 0xffffffff)), "the table of blocks is not where it should be");
  EXPECT_EQ(complaint(with_u32(whole, 8, 5)), "the table of blocks does not fit the header");
  std::string streams = whole;
  streams[15] = 5;
  EXPECT_EQ(complaint(streams), "the file has 5 blocks, which does not fit its header");
  EXPECT_EQ(complaint(with_u32(whole, 44, 0x7fffffff)), "the file is truncated");  // compressed size
  EXPECT_EQ(complaint(with_u32(whole, 48, 0xffffffff)), "the file is truncated");  // its upper half
  EXPECT_EQ(complaint(whole + "x"), "the file has more data than its header declares");
  EXPECT_EQ(complaint(with_u32(whole, 36, 5)), "an extension is truncated");
  EXPECT_EQ(complaint(with_u32(whole, 40, 17)), "coordinate system 17 is not known");
}

TEST_F(SpzDamage, CountsThatTheFileCannotHoldAllocateNothing) {
  for (const std::uint32_t count : {40'000'000u, 0xffffffffu}) {
    const std::string expected =
        fmt::format("the file is too small for the {} Gaussians that its header declares", count);
    EXPECT_EQ(complaint(gzipped(with_u32(inflated(saved(3)), 8, count))), expected);
    EXPECT_EQ(complaint(with_u32(saved(4), 8, count)), expected);
  }
}

}  // namespace
}  // namespace stipple
