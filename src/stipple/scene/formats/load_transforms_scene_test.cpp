// SPDX-License-Identifier: Apache-2.0
// Scenes with a transforms.json. load_scene_test.cpp covers COLMAP and what all formats have in common.
#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

namespace fs = std::filesystem;

TEST(LoadTransformsScene, LoadsNerfSynthetic) {
  TestFolder folder;
  for (const char* name : {"a", "b", "c"}) save_test_picture(folder / fmt::format("train/{}.png", name));
  save_test_picture(folder / "test/d.png");
  const std::string matrix = R"("transform_matrix":[[1,0,0,0],[0,1,0,0],[0,0,1,4],[0,0,0,1]])";
  const auto frame = [&](const std::string& path) {
    return "{\"file_path\":\"" + path + "\"," + matrix + "}";
  };
  folder.write("transforms_train.json", "{\"camera_angle_x\":0.8,\"frames\":[" + frame("./train/a") + "," +
                                            frame("train/b") + "," + frame("train/c") + "]}");
  folder.write("transforms_test.json", "{\"camera_angle_x\":0.8,\"frames\":[" + frame("test/d") + "]}");
  const Scene scene = load_scene(folder.path());
  ASSERT_EQ(scene.views.size(), 4u);
  EXPECT_EQ(scene.views[0].name, "test/d");
  EXPECT_EQ(scene.test_views(), (std::vector<std::size_t>{0}));
  EXPECT_NEAR(scene.views[0].camera.focal_px.x, 16 / std::tan(0.4), 1e-4);
  EXPECT_TRUE(scene.has_random_points);
}

TEST(LoadTransformsScene, TreatsImpossibleMaskNameAsMissing) {
  TestFolder folder;
  for (const PosedImage& image : test_images()) save_test_picture(folder / "images" / image.name);
  save_transforms(test_images(), test_points(), folder.path());
  const std::string name(300, 'm');
  replace_in(folder / "transforms.json", "\"file_path\"", "\"mask_path\": \"" + name + "\", \"file_path\"");
  EXPECT_EQ(problems_of(folder), "1 photo whose mask is missing: images/00.png (" + name +
                                     ")\nThey are used without a mask, so all of their pixels count.\n");
}

TEST(LoadTransformsScene, ReportsUnusableCamera) {
  TestFolder folder;
  for (const PosedImage& image : test_images()) save_test_picture(folder / "images" / image.name);
  save_transforms(test_images(), test_points(), folder.path());
  replace_in(folder / "transforms.json", "\"file_path\"", "\"fl_x\": 1e-300, \"file_path\"");
  EXPECT_EQ(
      problems_of(folder),
      "1 photo with an unusable camera: images/00.png: the focal length of 1e-300 x 31.25 pixels is invalid\n"
      "They are left out; correct their cameras.\n");
}

TEST(LoadTransformsScene, ReportsDuplicateFrame) {
  TestFolder folder;
  std::vector<PosedImage> images = test_images();
  for (const PosedImage& image : images) save_test_picture(folder / "images" / image.name);
  images.push_back(images[4]);
  save_transforms(images, test_points(), folder.path());
  EXPECT_EQ(load_scene(folder.path()).views.size(), 12u);
  EXPECT_EQ(problems_of(folder),
            "1 image with a duplicate name: images/04.png\nOnly the first image of each name is used.\n");
}

TEST(LoadTransformsScene, ReportsAPhotoUnderTwoNames) {
  TestFolder folder;
  for (const PosedImage& image : test_images()) save_test_picture(folder / "images" / image.name);
  std::vector<PosedImage> images = test_images();
  images.push_back(images[4]);
  images.back().name = "./" + images[4].name;
  save_transforms(images, test_points(), folder.path());
  EXPECT_EQ(load_scene(folder.path()).views.size(), 12u);
  EXPECT_EQ(problems_of(folder),
            "1 photo under a second name: images/./04.png\nOnly the first image of each photo is used.\n");
}

TEST(LoadTransformsScene, IgnoresListOfNamesBesideTransforms) {
  TestFolder folder;
  for (const PosedImage& image : test_images()) save_test_picture(folder / "images" / image.name);
  save_transforms(test_images(), test_points(), folder.path());
  folder.write("images.txt", "00.png\n01.png\n");
  EXPECT_EQ(load_scene(folder.path()).format, "transforms.json");
}

TEST(LoadTransformsScene, LoadsNerfstudioPointsAndMasks) {
  TestFolder folder;
  for (const PosedImage& image : test_images()) save_test_picture(folder / "images" / image.name);
  save_transforms(test_images(), test_points(), folder.path());
  fs::create_directories(folder / "m");
  save_png(Image(32, 24, 1), folder / "m/black.png");
  replace_in(folder / "transforms.json", "\"file_path\": \"images/00.png\"",
             "\"mask_path\": \"m/black.png\", \"file_path\": \"images/00.png\"");
  replace_in(folder / "transforms.json", "\"file_path\": \"images/01.png\"",
             "\"mask_path\": \"m/gone.png\", \"file_path\": \"images/01.png\"");
  replace_in(folder / "transforms.json", "images/02.png", "../02.png");
  const Scene scene = load_scene(folder / "transforms.json");
  EXPECT_EQ(scene.views.size(), 11u);
  EXPECT_EQ(scene.points.position, test_points().position);
  EXPECT_EQ(scene.views[0].mask_path, folder / "m/black.png");
  EXPECT_EQ(problems_of(folder),
            "1 photo whose name leads outside the scene: ../02.png\n"
            "They are left out; move the photos into the scene's folder and name them relative to it.\n"
            "1 photo whose mask is missing: images/01.png (m/gone.png)\n"
            "They are used without a mask, so all of their pixels count.\n");
  fs::remove(folder / "points.ply");
  EXPECT_NE(problems_of(folder).find("scene/points.ply: No such file or directory\n"
                                     "Random points are used instead, so training takes longer.\n"),
            std::string::npos)
      << problems_of(folder);
}

}  // namespace
}  // namespace stipple
