// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/check_scene.h"

#include <fstream>

#include "stipple/scene/draw_scene.h"
#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

namespace fs = std::filesystem;

// The report's problems, a line each: severity, what, advice.
std::string report_of(const TestFolder& folder) {
  std::string text;
  for (const SceneProblem& p : check_scene(folder.path()).problems)
    text += fmt::format("{}: {} | {}\n", p.is_fatal ? "error" : "warning", p.what, p.advice);
  for (std::size_t at; (at = text.find(folder.path().string())) != text.npos;)
    text.replace(at, folder.path().string().size(), "scene");
  return text;
}

TEST(CheckScene, AGoodScene) {
  TestFolder folder;
  save_test_scene(folder.path());
  const SceneReport report = check_scene(folder.path());
  EXPECT_EQ(report_of(folder), "");
  EXPECT_TRUE(report.would_train());
  EXPECT_EQ(report.image_count_from_model.at("PINHOLE"), 12u);
  EXPECT_EQ(report.image_count_from_size.at("32x24"), 12u);
  EXPECT_EQ(report.photo_bytes, 12u * 32 * 24 * 3);
}

TEST(CheckScene, NoSceneAtAll) {
  TestFolder folder;
  EXPECT_FALSE(check_scene(folder.path()).would_train());
  EXPECT_EQ(report_of(folder).substr(0, 35), "error: scene: neither a COLMAP mode");
}

TEST(CheckScene, ADamagedPhoto) {
  TestFolder folder;
  save_test_scene(folder.path());
  const std::string whole = read_file(folder / "images/03.png");
  folder.write("images/03.png", whole.substr(0, whole.size() / 2));
  EXPECT_EQ(
      report_of(folder),
      "error: 1 photo cannot be read: scene/images/03.png: file ends early | Copy them again, or remove them "
      "from the folder: training stops at a photo that it cannot read.\n");
  EXPECT_FALSE(check_scene(folder.path()).would_train());
}

TEST(CheckScene, APhotoThatIsMaskedOut) {
  TestFolder folder;
  save_test_scene(folder.path());
  fs::create_directories(folder / "masks");
  save_png(Image(32, 24, 1), folder / "masks/03.png");
  EXPECT_EQ(
      report_of(folder),
      "warning: 1 photo masked out entirely, such as 03.png | In masks white is what to keep; are these "
      "inverted?\n");
}

TEST(CheckScene, ACameraFarAway) {
  TestFolder folder;
  save_test_scene(folder.path());
  std::vector<PosedImage> images = test_images();
  images[5].camera_from_world.translation = {0, 0, 1000};
  save_colmap(images, test_points(), ColmapFormat::kBinary, folder / "sparse/0");
  EXPECT_EQ(
      report_of(folder),
      "warning: 1 image taken from very far away from the others, such as 05.png | Their poses are likely "
      "wrong; remove them if the result has fog in it.\n");
}

TEST(CheckScene, FarFromTheOrigin) {
  TestFolder folder;
  save_test_scene(folder.path());
  std::vector<PosedImage> images = test_images();
  Points points = test_points();
  const Vec3f offset(500000, 4649776, 120);  // as map coordinates are
  for (PosedImage& image : images) {
    RigidTransform& t = image.camera_from_world;
    t.translation = t.translation - t.rotation * offset;
  }
  for (Vec3f& p : points.position) p = p + offset;
  save_colmap(images, points, ColmapFormat::kBinary, folder / "sparse/0");
  const std::string report = report_of(folder);
  // How far apart the cameras are, only rounding says.
  EXPECT_TRUE(report.starts_with(
      "error: the scene lies so far from its origin that coordinates are rounded to 0.557, with cameras 4"))
      << report;
  EXPECT_NE(
      report.find(" from their middle | Export it in local coordinates, with the origin in its middle."),
      report.npos)
      << report;
}

TEST(CheckScene, AllFromOnePlace) {
  TestFolder folder;
  save_test_scene(folder.path());
  std::vector<PosedImage> images = test_images();
  for (PosedImage& image : images) image.camera_from_world = images[0].camera_from_world;
  save_colmap(images, test_points(), ColmapFormat::kBinary, folder / "sparse/0");
  EXPECT_EQ(
      report_of(folder),
      "error: all images were taken from the same place | Depth cannot be told from one place; walk around "
      "while you take photos.\n");
}

TEST(CheckScene, PointsWithoutColours) {
  TestFolder folder;
  save_test_scene(folder.path());
  Points points = test_points();
  for (auto& c : points.color) c = {0, 0, 0};
  save_colmap(test_images(), points, ColmapFormat::kBinary, folder / "sparse/0");
  EXPECT_EQ(
      report_of(folder),
      "warning: the points have no colours of their own | Training starts from grey and takes longer; export "
      "them with colours.\n");
}

TEST(CheckScene, AViewThatLooksAway) {
  TestFolder folder;
  save_test_scene(folder.path());
  std::vector<PosedImage> images = test_images();
  images[5].camera_from_world.translation.z = -4;  // everything is behind it
  save_colmap(images, test_points(), ColmapFormat::kBinary, folder / "sparse/0");
  EXPECT_EQ(
      report_of(folder),
      "warning: 1 image sees fewer than 30 points, such as 05.png | Their poses may be wrong, or they look "
      "away from the scene.\n");
}

TEST(CheckScene, FewImages) {
  TestFolder folder;
  save_test_scene(folder.path());
  save_colmap(test_images(3), test_points(), ColmapFormat::kBinary, folder / "sparse/0");
  EXPECT_EQ(
      report_of(folder),
      "warning: there are only 3 images | Expect holes and floating spots; 50 or more from all around make a "
      "good scene.\n");
}

TEST(CheckScene, DrawsAMap) {
  TestFolder folder;
  save_test_scene(folder.path());
  const Image map = draw_scene(load_scene(folder.path()));
  std::size_t blue = 0, orange = 0;
  for (int y = 0; y < map.height_px; ++y)
    for (int x = 0; x < map.width_px; ++x) {
      blue += map.at(x, y, 2) > map.at(x, y, 0) + 0.5f && map.at(x, y, 1) < 0.5f;
      orange += map.at(x, y, 0) > 0.9f && map.at(x, y, 2) < 0.2f;
    }
  EXPECT_GT(blue, 500u);    // ten cameras, twice
  EXPECT_GT(orange, 100u);  // two
}

// Photos of real captures, when they are there.
TEST(CheckScene, RealScenesAreGood) {
  const fs::path data = fs::path(STIPPLE_SOURCE_DIR) / "../shared/data";
  if (!fs::exists(data)) GTEST_SKIP() << "no real photos beside the repository (../shared/data)";
  for (const auto& [name, count] : {std::pair("fox", 50u), std::pair("truck", 251u)}) {
    const SceneReport report = check_scene(data / name);
    EXPECT_TRUE(report.would_train()) << name;
    EXPECT_TRUE(report.problems.empty()) << name;
    EXPECT_EQ(report.scene.views.size(), count) << name;
  }
}

}  // namespace
}  // namespace stipple
