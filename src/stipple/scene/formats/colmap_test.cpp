// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/colmap.h"

#include "stipple/core/random.h"
#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

namespace fs = std::filesystem;

void expect_same_pose(const RigidTransform& a, const RigidTransform& b, float tolerance) {
  for (int k = 0; k < 3; ++k) {
    for (int r = 0; r < 3; ++r) EXPECT_NEAR(a.rotation[k][r], b.rotation[k][r], tolerance);
    EXPECT_NEAR(a.translation[k], b.translation[k], tolerance);
  }
}

void expect_same_lens(const Lens& a, const Lens& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.focal_px, b.focal_px);
  EXPECT_EQ(a.center_px, b.center_px);
  EXPECT_EQ(a.radial, b.radial);
  EXPECT_EQ(a.tangential, b.tangential);
  EXPECT_EQ(a.width_px, b.width_px);
  EXPECT_EQ(a.height_px, b.height_px);
}

std::size_t dropped_count(const ColmapModel& m) {
  return m.bad_poses.count + m.twice.count + m.bad_points.count + m.bad_lines.count + m.short_files.count +
         m.unusable_cameras.size();
}

class ColmapFormats : public testing::TestWithParam<ColmapFormat> {};

TEST_P(ColmapFormats, RoundTrips) {
  TestFolder folder;
  std::vector<PosedImage> images = test_images();
  images[3].lens.radial[0] = -0.1;  // OPENCV
  images[4].lens.radial = {0.1, 0.2, 0.3, 0.01, 0.02, 0.03};
  images[5].lens.kind = Lens::Kind::kFisheye;
  images[6].name = "left/with space.png";
  save_colmap(images, test_points(), GetParam(), folder.path());
  const ColmapModel model = load_colmap(folder.path());
  EXPECT_EQ(dropped_count(model), 0u);
  EXPECT_EQ(model.lens_from_camera_id.size(), 4u);  // equal lenses share a camera
  ASSERT_EQ(model.images.size(), images.size());
  for (std::size_t i = 0; i < images.size(); ++i) {
    EXPECT_EQ(model.images[i].name, images[i].name);
    expect_same_pose(model.images[i].camera_from_world, images[i].camera_from_world, 1e-6f);
    expect_same_lens(model.lens_from_camera_id.at(model.images[i].camera_id), images[i].lens);
  }
  EXPECT_EQ(model.points.position, test_points().position);
  EXPECT_EQ(model.points.color, test_points().color);
  EXPECT_EQ(colmap_image_count(folder.path()), images.size());
  EXPECT_EQ(colmap_format(folder.path()), GetParam());
}

// More than are held at once.
TEST_P(ColmapFormats, WritesPointsWhileTheyAreMade) {
  constexpr std::size_t kCount = 200'000;
  Points all;
  for (std::size_t i = 0; i < kCount; ++i) {
    all.position.emplace_back(static_cast<float>(i), 1, 2);
    all.color.push_back({static_cast<std::uint8_t>(i), 1, 2});
  }
  std::size_t made = 0, most = 0;
  const PointStream stream(kCount, [&](std::size_t begin, std::size_t end) {
    EXPECT_EQ(begin, made);
    made = end;
    most = std::max(most, end - begin);
    return part_of(all, begin, end);
  });
  TestFolder folder;
  save_colmap(test_images(2), stream, GetParam(), folder.path());
  EXPECT_EQ(made, kCount);
  EXPECT_LT(most, kCount / 2);
  const ColmapModel model = load_colmap(folder.path());
  EXPECT_EQ(model.points.position, all.position);
  EXPECT_EQ(model.points.color, all.color);
}

// Including rotations whose quaternion has zeros.
TEST_P(ColmapFormats, RoundTripsAnyRotation) {
  TestFolder folder;
  std::vector<PosedImage> images;
  Random random(7);
  for (int i = 0; i < 200; ++i) {
    Vec4f q(random.normal(), random.normal(), random.normal(), random.normal());
    if (i < 4) q = {i == 0 ? 1.0f : 0.0f, i == 1 ? 1.0f : 0.0f, i == 2 ? 1.0f : 0.0f, i == 3 ? 1.0f : 0.0f};
    PosedImage image{
        fmt::format("{}.png", i), test_lens(), {Math<float>::rotation_from_quaternion(q), {1, 2, 3}}};
    images.push_back(image);
  }
  save_colmap(images, {}, GetParam(), folder.path());
  const ColmapModel model = load_colmap(folder.path());
  for (std::size_t i = 0; i < images.size(); ++i)
    expect_same_pose(model.images[i].camera_from_world, images[i].camera_from_world, 1e-6f);
}

// Every truncation throws an Error, is counted, or (if only irrelevant bytes are lost) changes nothing.
TEST_P(ColmapFormats, NoticesTruncatedFiles) {
  const bool binary = GetParam() == ColmapFormat::kBinary;
  const std::string extension = binary ? ".bin" : ".txt";
  TestFolder folder;
  save_colmap(test_images(2), test_points(3), GetParam(), folder.path());
  for (const std::string part : {"cameras", "images", "points3D"}) {
    const std::string whole = read_file(folder / (part + extension));
    for (std::size_t length = 0; length < whole.size(); ++length) {
      folder.write(part + extension, whole.substr(0, length));
      ColmapModel model;
      const std::string error = error_of([&] { model = load_colmap(folder.path()); });
      const bool is_whole =
          model.images.size() == 2 && model.points.size() == 3 && model.lens_from_camera_id.size() == 1;
      // A text file without header and entries is an empty list, which load_scene() reports.
      const bool is_empty =
          model.images.empty() || model.points.size() == 0 || model.lens_from_camera_id.empty();
      EXPECT_TRUE(!error.empty() || dropped_count(model) > 0 || (!binary && (is_whole || is_empty)))
          << part << " truncated to " << length << " bytes";
      EXPECT_EQ(error.find('\n'), std::string::npos);
    }
    folder.write(part + extension, whole);
  }
}

TEST_P(ColmapFormats, SurvivesRandomBytes) {
  const std::string extension = GetParam() == ColmapFormat::kBinary ? ".bin" : ".txt";
  TestFolder folder;
  save_colmap(test_images(3), test_points(5), GetParam(), folder.path());
  for (const std::string part : {"cameras", "images", "points3D"}) {
    const std::string name = part + extension, whole = read_file(folder / name);
    expect_flips_are_survived(folder, name, whole, 300, [&](const fs::path&) { load_colmap(folder.path()); });
    folder.write(name, whole);
  }
}

INSTANTIATE_TEST_SUITE_P(Scene, ColmapFormats, testing::Values(ColmapFormat::kBinary, ColmapFormat::kText),
                         [](const auto& format) {
                           return format.param == ColmapFormat::kBinary ? "binary" : "text";
                         });

TEST(ColmapBinary, ErrorsNameFileAndEntry) {
  TestFolder folder;
  save_colmap(test_images(2), test_points(3), ColmapFormat::kBinary, folder.path());
  const std::string images = read_file(folder / "images.bin"), cameras = read_file(folder / "cameras.bin");
  const std::string at = folder.path().string();
  const auto error = [&] { return error_of([&] { load_colmap(folder.path()); }); };
  folder.write("images.bin", images.substr(0, images.size() - 1));
  EXPECT_EQ(error(), at + "/images.bin: the file is truncated in image 2 of 2; copy or export it again");
  folder.write("images.bin", std::string("\0\0\x64\xa7\xb3\xb6\xe0\x0d", 8) + images.substr(8));  // 10^18
  EXPECT_EQ(error(),
            at + "/images.bin: the file claims 1000000000000000000 images but is large enough for at most " +
                std::to_string((images.size() - 8) / 73) + "; it is truncated or not a COLMAP file");
  folder.write("images.bin", images);
  std::string other = cameras;
  other[12] = 99;
  folder.write("cameras.bin", other);
  EXPECT_EQ(
      error(),
      at + "/cameras.bin: camera 1 has the unknown camera model 99; undistort the images first, for example "
           "with \"colmap image_undistorter\"");
  folder.write("cameras.bin", "");
  EXPECT_EQ(error(), at + "/cameras.bin: the file is truncated; copy or export it again");
  fs::remove(folder / "cameras.bin");
  EXPECT_EQ(error(), at + ": there is no cameras.bin or cameras.txt; export the whole model again");
}

TEST(ColmapBinary, RejectsOversizedTracks) {
  TestFolder folder;
  save_colmap(test_images(2), test_points(3), ColmapFormat::kBinary, folder.path());
  std::string points = read_file(folder / "points3D.bin");
  for (std::size_t i = points.size() - 8; i < points.size(); ++i) points[i] = '\xff';
  folder.write("points3D.bin", points);
  EXPECT_EQ(error_of([&] { load_colmap(folder.path()); }),
            (folder / "points3D.bin").string() +
                ": the file is truncated in point 3 of 3; copy or export it again");
}

// Text as other programs export it.
TEST(ColmapText, ToleratesOtherExporters) {
  TestFolder folder;
  folder.write("cameras.txt",
               "# Camera list\n\n1 PINHOLE 640 480 500 501.5 320 240\r\n"
               "2 FULL_OPENCV 640 480 500 500 320 240 0 0 0 0 0 0 0 0\n"
               "3 FOV 640 480 500 500 320 240 0.1\n"
               "4 NONSENSE 640 480 1\n"
               "5 PINHOLE 0 480 500 501 320 240\n"
               "6 PINHOLE 640 480 500 501 320\n");
  folder.write("images.txt",
               "# Image list\n"
               "1 1 0 0 0 0 0 0 1 a b.jpg\n"  // a space in the name, an empty second line
               "\n"
               "2 1 0 0 0 1 2 3 1 no points.jpg\n"  // no second line at all
               "3 0.5 0.5 0.5 0.5 1 2 3 2 c.jpg  \r\n"
               "10.5 20.5 -1 30 40 7\n"
               "4 -nan(ind) 0 0 0 0 0 0 1 nan.jpg\n"
               "\n"
               "5 1 0 0 0 inf 0 0 1 inf.jpg\n"
               "1 2 3 4 5 6 7 8 9 10 11 12\n"  // points that could pass for an image except for the name
               "6 1 0 0 zero 0 0 0 1 word.jpg\n"
               "\n"
               "7 1 0 0 0 0 0 0 1 c.jpg\n"  // a duplicate name
               "\n"
               "8 0 0 0 0 0 0 0 1 norotation.jpg\n"
               "\n"
               "9 1 0 0 0 0 0 0 9 nocamera.jpg\n");
  folder.write("points3D.txt",
               "# 3D point list\n1 1 2 3 255 128 0 0.5 1 2\n2 nan 2 3 1 2 3 0.5\n3 1e30 2 3 300 -5 7.9 -1\n"
               "4 1 2\n");
  const ColmapModel m = load_colmap(folder.path());
  EXPECT_EQ(m.lens_from_camera_id.size(), 2u);
  EXPECT_TRUE(m.lens_from_camera_id.at(2).is_pinhole());
  EXPECT_EQ(
      m.unusable_cameras.at(3),
      "camera 3: camera model FOV is not supported; undistort the images first, for example with \"colmap "
      "image_undistorter\"");
  EXPECT_EQ(
      m.unusable_cameras.at(4),
      "camera 4: camera model NONSENSE is unknown; undistort the images first, for example with \"colmap "
      "image_undistorter\"");
  EXPECT_EQ(m.unusable_cameras.at(5),
            "camera 5: its size is 0 x 480; both sides must be from 1 to 65536 pixels");
  std::vector<std::string> names;
  for (const ColmapImage& image : m.images) names.push_back(image.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a b.jpg", "no points.jpg", "c.jpg", "nocamera.jpg"}));
  EXPECT_EQ(m.bad_poses.count, 3u);
  EXPECT_EQ(m.bad_poses.first, "nan.jpg");
  EXPECT_EQ(m.twice.first, "c.jpg");
  EXPECT_EQ(m.bad_lines.count, 3u);  // camera 6, image 6, point 4
  EXPECT_EQ(m.bad_lines.first, "cameras.txt line 8");
  EXPECT_EQ(m.bad_points.count, 1u);
  EXPECT_EQ(m.bad_points.first, "point 2");
  ASSERT_EQ(m.points.size(), 2u);
  EXPECT_EQ(m.points.color[1], (std::array<std::uint8_t, 3>{255, 0, 7}));
}

TEST(Colmap, FindsModelsInCommonFolders) {
  for (const char* place :
       {"sparse/0", "sparse/1", "sparse", "", "colmap/sparse/0", "colmap/sparse", "colmap"}) {
    TestFolder folder;
    fs::create_directories(folder / place);
    save_colmap(test_images(2), test_points(3), ColmapFormat::kText, folder / place);
    const std::vector<fs::path> found = find_colmap_models(folder.path());
    ASSERT_EQ(found.size(), 1u) << place;
    EXPECT_TRUE(fs::equivalent(found[0], folder / place));
  }
  TestFolder empty;
  EXPECT_TRUE(find_colmap_models(empty.path()).empty());
  EXPECT_TRUE(find_colmap_models(empty / "nowhere").empty());
}

TEST(Colmap, IgnoresRigsAndFrames) {
  TestFolder folder;
  save_colmap(test_images(2), test_points(3), ColmapFormat::kBinary, folder.path());
  folder.write("rigs.bin", "anything");
  folder.write("frames.bin", "");
  EXPECT_EQ(load_colmap(folder.path()).images.size(), 2u);
}

}  // namespace
}  // namespace stipple
