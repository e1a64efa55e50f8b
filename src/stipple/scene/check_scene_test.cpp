// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/check_scene.h"

#include <fstream>

#include "stipple/scene/draw_scene.h"
#include "tests/helpers/source_folder.h"
#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

namespace fs = std::filesystem;

// The report's problems, one per line: severity, what, advice.
std::string report_of(const TestFolder& folder) {
  std::string text;
  for (const SceneProblem& p : check_scene(folder.path()).problems)
    text += fmt::format("{}: {} | {}\n", p.is_fatal ? "error" : "warning", p.what, p.advice);
  for (std::size_t at; (at = text.find(folder.path().string())) != text.npos;)
    text.replace(at, folder.path().string().size(), "scene");
  return text;
}

TEST(CheckScene, AcceptsGoodScene) {
  TestFolder folder;
  save_test_scene(folder.path());
  const SceneReport report = check_scene(folder.path());
  EXPECT_EQ(report_of(folder), "");
  EXPECT_TRUE(report.would_train());
  EXPECT_EQ(report.image_count_from_model.at("PINHOLE"), 12u);
  EXPECT_EQ(report.image_count_from_size.at("32x24"), 12u);
  EXPECT_EQ(report.photo_bytes, 12u * 32 * 24 * 3);
  EXPECT_GT(report.points_per_image, 5u);  // most of the 60 are hidden or out of view
  EXPECT_LT(report.points_per_image, 60u);
}

TEST(CheckScene, ReportsMissingScene) {
  TestFolder folder;
  EXPECT_FALSE(check_scene(folder.path()).would_train());
  EXPECT_EQ(report_of(folder).substr(0, 35), "error: scene: this folder holds nei");
}

TEST(CheckScene, RejectsDamagedPhoto) {
  TestFolder folder;
  save_test_scene(folder.path());
  const std::string whole = read_file(folder / "images/03.png");
  folder.write("images/03.png", whole.substr(0, whole.size() / 2));
  EXPECT_EQ(
      report_of(folder),
      "error: 1 photo cannot be read: scene/images/03.png: the file is truncated | Copy them again or remove "
      "them from the folder; training stops at a photo that it cannot read.\n");
  EXPECT_FALSE(check_scene(folder.path()).would_train());
}

TEST(CheckScene, WarnsOfFullyMaskedPhoto) {
  TestFolder folder;
  save_test_scene(folder.path());
  fs::create_directories(folder / "masks");
  save_png(Image(32, 24, 1), folder / "masks/03.png");
  EXPECT_EQ(
      report_of(folder),
      "warning: 1 photo entirely masked out: 03.png | White pixels of a mask count and black ones do not; "
      "check that the masks are not inverted.\n");
}

TEST(CheckScene, WarnsOfDistantCamera) {
  TestFolder folder;
  save_test_scene(folder.path());
  std::vector<PosedImage> images = test_images();
  images[5].camera_from_world.translation = {0, 0, 1000};
  save_colmap(images, test_points(), ColmapFormat::kBinary, folder / "sparse/0");
  EXPECT_EQ(
      report_of(folder),
      "warning: 1 photo taken very far from the others: 05.png | Their poses are probably wrong; remove them "
      "if the result looks foggy.\n");
}

TEST(CheckScene, RejectsSceneFarFromOrigin) {
  TestFolder folder;
  save_test_scene(folder.path());
  std::vector<PosedImage> images = test_images();
  Points points = test_points();
  const Vec3f offset(500000, 4649776, 120);  // typical map coordinates
  for (PosedImage& image : images) {
    RigidTransform& t = image.camera_from_world;
    t.translation = t.translation - t.rotation * offset;
  }
  for (Vec3f& p : points.position) p = p + offset;
  save_colmap(images, points, ColmapFormat::kBinary, folder / "sparse/0");
  const std::string report = report_of(folder);
  // Rounding determines the printed spread of the cameras.
  EXPECT_TRUE(report.starts_with(
      "error: the scene is so far from the origin that its coordinates are accurate only to 0.557, while all "
      "cameras lie within 4"))
      << report;
  EXPECT_NE(report.find(" of their centre | Export it in local coordinates, with the origin at its centre."),
            report.npos)
      << report;
}

TEST(CheckScene, RejectsSingleViewpoint) {
  TestFolder folder;
  save_test_scene(folder.path());
  std::vector<PosedImage> images = test_images();
  for (PosedImage& image : images) image.camera_from_world = images[0].camera_from_world;
  save_colmap(images, test_points(), ColmapFormat::kBinary, folder / "sparse/0");
  EXPECT_EQ(
      report_of(folder),
      "error: all photos were taken from the same place | A single viewpoint does not reveal depth; walk "
      "around while taking photos.\n");
}

TEST(CheckScene, WarnsOfPointsWithoutColours) {
  TestFolder folder;
  save_test_scene(folder.path());
  Points points = test_points();
  for (auto& c : points.color) c = {0, 0, 0};
  save_colmap(test_images(), points, ColmapFormat::kBinary, folder / "sparse/0");
  EXPECT_EQ(
      report_of(folder),
      "warning: the points have no colours: nearly all are the same | Training takes their colours from "
      "the photos that see them; export the points with their colours if you can.\n");
}

TEST(CheckScene, WarnsOfViewThatSeesFewPoints) {
  TestFolder folder;
  save_test_scene(folder.path());
  std::vector<PosedImage> images = test_images();
  images[5].camera_from_world.translation.z = -4;  // everything is behind it
  save_colmap(images, test_points(), ColmapFormat::kBinary, folder / "sparse/0");
  EXPECT_EQ(
      report_of(folder),
      "warning: 1 photo with fewer than 30 points in view: 05.png | Their poses may be wrong, or they look "
      "away from the scene.\n");
}

TEST(CheckScene, WarnsOfFewPhotos) {
  TestFolder folder;
  save_test_scene(folder.path());
  save_colmap(test_images(3), test_points(), ColmapFormat::kBinary, folder / "sparse/0");
  EXPECT_EQ(
      report_of(folder),
      "warning: the scene has only 3 photos | Expect holes and floaters; a good scene has 50 or more photos "
      "from all around.\n");
}

TEST(CheckScene, DrawsMap) {
  TestFolder folder;
  save_test_scene(folder.path());
  const Image map = draw_scene(load_scene(folder.path()));
  std::size_t blue = 0, orange = 0;
  for (int y = 0; y < map.height_px; ++y)
    for (int x = 0; x < map.width_px; ++x) {
      blue += map.at(x, y, 2) > map.at(x, y, 0) + 0.5f && map.at(x, y, 1) < 0.5f;
      orange += map.at(x, y, 0) > 0.9f && map.at(x, y, 2) < 0.2f;
    }
  EXPECT_GT(blue, 500u);    // ten cameras, each drawn twice
  EXPECT_GT(orange, 100u);  // two cameras, each drawn twice
}

// Real captures, if they are available.
TEST(CheckScene, AcceptsRealScenes) {
  const fs::path data = source_folder() / "../shared/data";
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
