// SPDX-License-Identifier: Apache-2.0
#include <fstream>

#include "stipple/photo/load_photo.h"
#include "tests/helpers/object_scene.h"
#include "tests/helpers/test_jpeg.h"
#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

namespace fs = std::filesystem;

TEST(LoadScene, LoadsColmapScene) {
  TestFolder folder;
  save_test_scene(folder.path());
  const Scene scene = load_scene(folder.path());
  EXPECT_EQ(scene.format, "COLMAP model (binary) in sparse/0");
  EXPECT_TRUE(scene.problems.empty());
  ASSERT_EQ(scene.views.size(), 12u);
  EXPECT_EQ(scene.test_views(), (std::vector<std::size_t>{0, 8}));  // every 8th, starting with the first
  EXPECT_EQ(scene.train_views().size(), 10u);
  EXPECT_EQ(scene.points.position, test_points().position);
  EXPECT_FALSE(scene.has_random_points);
  for (std::size_t i = 0; i < 12; ++i) {
    const SceneView& v = scene.views[i];
    EXPECT_EQ(v.name, test_images()[i].name);
    EXPECT_EQ(v.camera.focal_px, Vec2f(30.5f, 31.25f));
    EXPECT_EQ(v.camera.center_px, Vec2f(15.75f, 12.5f));  // still off-centre
    EXPECT_EQ(v.camera.width_px, 32);
    const Photo photo = load_photo(v);
    EXPECT_EQ(photo.width_px, 32);
    EXPECT_EQ(photo.height_px, 24);
    EXPECT_TRUE(photo.weight.empty());
  }
}

TEST(LoadScene, BinaryAndTextAgree) {
  TestFolder binary, text;
  save_test_scene(binary.path(), ColmapFormat::kBinary);
  save_test_scene(text.path(), ColmapFormat::kText);
  const Scene a = load_scene(binary.path()), b = load_scene(text.path());
  EXPECT_EQ(b.format, "COLMAP model (text) in sparse/0");
  ASSERT_EQ(a.views.size(), b.views.size());
  for (std::size_t i = 0; i < a.views.size(); ++i) {
    for (int k = 0; k < 3; ++k) {
      EXPECT_EQ(a.views[i].camera.camera_from_world.rotation[k],
                b.views[i].camera.camera_from_world.rotation[k]);
    }
    EXPECT_EQ(a.views[i].camera.focal_px, b.views[i].camera.focal_px);
  }
  EXPECT_EQ(a.points.position, b.points.position);
}

TEST(LoadScene, FindsPhotosInCommonLayouts) {
  struct Layout {
    const char *images, *model;
  };
  for (const Layout& layout : {Layout{"images", "sparse"},
                               {"input", "sparse/0"},
                               {".", "."},
                               {"images_4", "sparse/0"},
                               {"images/left", "sparse/0"},
                               {"images", "colmap/sparse/0"}}) {
    TestFolder folder;
    fs::create_directories(folder / layout.model);
    save_colmap(test_images(), test_points(), ColmapFormat::kBinary, folder / layout.model);
    for (const PosedImage& image : test_images()) save_test_picture(folder / layout.images / image.name);
    const Scene scene = load_scene(folder.path());
    EXPECT_EQ(scene.views.size(), 12u) << layout.images;
    EXPECT_TRUE(scene.problems.empty()) << layout.images;
  }
}

TEST(LoadScene, AcceptsModelFolder) {
  TestFolder folder;
  save_test_scene(folder.path());
  EXPECT_EQ(load_scene(folder / "sparse/0").views.size(), 12u);
  EXPECT_EQ(load_scene(folder / "sparse").views.size(), 12u);
  EXPECT_EQ(load_scene(folder.path().string() + "/").views.size(), 12u);
}

TEST(LoadScene, FindsConvertedPhotosByStem) {
  TestFolder folder;
  save_test_scene(folder.path(), ColmapFormat::kText);
  std::string images = read_file(folder / "sparse/0/images.txt");
  for (std::size_t at; (at = images.find(".png")) != images.npos;) images.replace(at, 4, ".JPG");
  std::ofstream(folder / "sparse/0/images.txt") << images;
  EXPECT_EQ(load_scene(folder.path()).views.size(), 12u);
}

TEST(LoadScene, UsesLargestOfSeveralModels) {
  TestFolder folder;
  save_test_scene(folder.path());
  fs::rename(folder / "sparse/0", folder / "sparse/1");
  fs::create_directories(folder / "sparse/0");
  save_colmap(test_images(3), test_points(), ColmapFormat::kText, folder / "sparse/0");
  EXPECT_EQ(load_scene(folder.path()).views.size(), 12u);
  EXPECT_EQ(problems_of(folder),
            "2 COLMAP models: sparse/0 (3 images), sparse/1 (12 images)\n"
            "The largest, sparse/1, is used; to use another one, give its folder.\n");
}

TEST(LoadScene, ReportsMissingPhotos) {
  TestFolder folder;
  save_test_scene(folder.path());
  fs::remove(folder / "images/03.png");
  fs::remove(folder / "images/05.png");
  EXPECT_EQ(problems_of(folder),
            "2 photos not found, such as 03.png\n"
            "They are left out; copy them to scene/images, or name the folder that holds them.\n");
  EXPECT_EQ(load_scene(folder.path()).views.size(), 10u);
  fs::remove_all(folder / "images");
  EXPECT_EQ(problems_of(folder),
            "scene: no photo can be used: 12 photos not found, such as 00.png; copy them to "
            "scene/, or name the folder that holds them\n");
}

TEST(LoadScene, ReportsModelTruncatedBeforeFirstImage) {
  TestFolder folder;
  save_test_scene(folder.path(), ColmapFormat::kText);
  folder.write("sparse/0/images.txt", "# Number of images: 12\n");
  EXPECT_EQ(problems_of(folder),
            "scene: no photo can be used: 1 file that may be truncated: images.txt (12 entries expected, 0 "
            "found); if so, copy or export the model again\n");
}

TEST(LoadScene, ReportsFilesThatAreNotImages) {
  TestFolder folder;
  save_test_scene(folder.path());
  folder.write("images/03.png", "hello");
  EXPECT_EQ(problems_of(folder),
            "1 photo cannot be read: scene/images/03.png: neither a JPEG nor a PNG image\n"
            "They are left out; copy or convert them again.\n");
}

TEST(LoadScene, ReportsPhotosOfAnotherAspectRatio) {
  TestFolder folder;
  save_test_scene(folder.path());
  save_test_picture(folder / "images/03.png", 24, 24);
  EXPECT_EQ(problems_of(folder),
            "1 photo whose aspect ratio differs from the camera's: 03.png (24x24 pixels, but camera 1 is "
            "32x24)\n"
            "They are left out; use the photos that the cameras were computed from.\n");
  save_test_picture(folder / "images/03.png", 16, 12);  // another size is fine
  EXPECT_EQ(problems_of(folder), "");
  EXPECT_EQ(load_scene(folder.path()).views[3].camera.width_px, 16);
  EXPECT_EQ(load_scene(folder.path()).views[3].camera.focal_px.x, 15.25f);
}

TEST(LoadScene, ReportsInvalidPoses) {
  TestFolder folder;
  save_test_scene(folder.path(), ColmapFormat::kText);
  std::string images = read_file(folder / "sparse/0/images.txt");
  const std::size_t line = images.rfind('\n', images.find("04.png")) + 1;
  images.replace(images.find(' ', line) + 1, 1, "-nan(ind) 0 0 0 0 0 0 1 04.png\n\n#");
  std::ofstream(folder / "sparse/0/images.txt") << images;
  EXPECT_EQ(problems_of(folder),
            "1 image with an invalid pose: 04.png\n"
            "They are left out; the reconstruction failed for them.\n");
}

TEST(LoadScene, ReportsUnusableCameras) {
  TestFolder folder;
  save_test_scene(folder.path(), ColmapFormat::kText);
  folder.write("sparse/0/cameras.txt", "1 FOV 32 24 30 30 16 12 0.5\n");
  EXPECT_EQ(
      problems_of(folder),
      "scene: no photo can be used: 12 images with an unusable camera: camera 1: camera model FOV is not "
      "supported; undistort the images first, for example with \"colmap image_undistorter\"\n");
  folder.write("sparse/0/cameras.txt", "7 PINHOLE 32 24 30 30 16 12\n");
  EXPECT_EQ(
      problems_of(folder),
      "scene: no photo can be used: 12 images whose camera is not in the model, such as 00.png (camera 1); "
      "export the whole model again\n");
}

TEST(LoadScene, ReportsBadPointsAndLines) {
  TestFolder folder;
  save_test_scene(folder.path(), ColmapFormat::kText);
  std::ofstream(folder / "sparse/0/points3D.txt", std::ios::app) << "61 nan 0 0 1 2 3 0\nwhat is this\n";
  EXPECT_EQ(problems_of(folder),
            "1 point with values that are not finite: point 61\nThey are left out.\n"
            "1 line that cannot be parsed: points3D.txt line 64\n"
            "They are left out; if there are many, export the model again.\n");
}

TEST(LoadScene, ReadsTextWithByteOrderMark) {
  TestFolder folder;
  save_test_scene(folder.path(), ColmapFormat::kText);
  folder.write("sparse/0/cameras.txt",
               "\xef\xbb\xbf"
               "1 PINHOLE 32 24 30 30 16 12\n");
  EXPECT_EQ(problems_of(folder), "");
}

TEST(LoadScene, ReportsTruncatedText) {
  TestFolder folder;
  save_test_scene(folder.path(), ColmapFormat::kText);
  const std::string whole = read_file(folder / "sparse/0/points3D.txt");
  folder.write("sparse/0/points3D.txt", whole.substr(0, whole.rfind("\n60 ") + 1));
  EXPECT_EQ(problems_of(folder),
            "1 file that may be truncated: points3D.txt (60 entries expected, 59 found)\n"
            "If so, copy or export the model again.\n");
}

TEST(LoadScene, RejectsNamesThatLeadOutside) {
  TestFolder folder;
  save_test_scene(folder / "inner");
  save_test_picture(folder / "secret.png");
  std::vector<PosedImage> images = test_images();
  images[1].name = "../../secret.png";
  images[2].name = (folder / "secret.png").string();
  images[3].name = "x/../../../secret.png";
  images[4].name = "..\\..\\secret.png";
  images[5].name = "./x/../05.png";  // stays inside
  save_colmap(images, test_points(), ColmapFormat::kBinary, folder / "inner/sparse/0");
  const Scene scene = load_scene(folder / "inner");
  EXPECT_EQ(scene.views.size(), 8u);
  ASSERT_EQ(scene.problems.size(), 1u);
  EXPECT_EQ(scene.problems[0].what, "4 photos whose name leads outside the scene, such as ../../secret.png");
  EXPECT_EQ(scene.problems[0].advice,
            "They are left out; move the photos into the scene's folder and name them relative to it.");
}

TEST(LoadScene, SurvivesCyclicLinks) {
  TestFolder folder;
  save_test_scene(folder.path());
  fs::create_directory_symlink(folder.path(), folder / "images/loop");
  fs::create_symlink("self.png", folder / "images/self.png");
  fs::remove(folder / "images/03.png");  // makes the finder search the sub-folders
  fs::create_symlink("03.png", folder / "images/03.png");
  EXPECT_EQ(load_scene(folder.path()).views.size(), 11u);
}

TEST(LoadScene, RejectsWhatIsNotAScene) {
  TestFolder folder;
  EXPECT_EQ(problems_of(folder),
            "scene: this folder holds neither a COLMAP model (sparse/0) nor a transforms.json, nor cameras "
            "of another known program\n");
  EXPECT_THROW(load_scene(folder.path()), NotAScene);
  EXPECT_EQ(error_of([&] { load_scene(folder / "nowhere"); }),
            (folder / "nowhere").string() + ": there is no such folder");
  folder.write("file", "x");
  EXPECT_EQ(error_of([&] { load_scene(folder / "file"); }),
            (folder / "file").string() +
                ": this is a file; give the scene's folder, or a .json, .xml or .csv file with cameras");
  fs::create_directories(folder / "sparse/0");
  save_colmap({}, {}, ColmapFormat::kBinary, folder / "sparse/0");
  EXPECT_EQ(problems_of(folder), "scene: the scene lists no images; export it again\n");
  fs::remove(folder / "sparse/0/images.bin");
  EXPECT_EQ(problems_of(folder),
            "scene/sparse/0: there is no images.bin or images.txt; export the whole model again\n");
}

std::string jpeg_with_orientation(int width, int height, int orientation) {
  Jpeg jpeg = waves(width, height);
  jpeg.app1 = exif(orientation, true);
  return jpeg.encode();
}

TEST(LoadScene, AppliesOrRejectsExifOrientation) {
  TestFolder folder;
  save_test_scene(folder.path());
  std::vector<PosedImage> images = test_images();
  images[2].name = "turned.jpg";
  images[3].name = "upright.jpg";
  save_colmap(images, test_points(), ColmapFormat::kBinary, folder / "sparse/0");
  // The stored photo has the camera's shape, so the camera was computed from it and not from the upright one.
  folder.write("images/turned.jpg", jpeg_with_orientation(32, 24, 6));
  folder.write("images/upright.jpg", jpeg_with_orientation(24, 32, 6));  // fits only when upright
  EXPECT_EQ(problems_of(folder),
            "1 photo with an Exif orientation that the cameras may not account for: turned.jpg "
            "(orientation 6)\n"
            "They are left out; if the cameras were computed from upright photos, rotate the pixels "
            "(exiftran -ai), otherwise remove the Exif tag.\n");
  const Scene scene = load_scene(folder.path());
  EXPECT_EQ(scene.views.back().name, "upright.jpg");
  EXPECT_EQ(load_photo(scene.views.back()).width_px, 32);
}

TEST(LoadScene, RecognisesObjectsAndCarvesPoints) {
  TestFolder folder;
  save_object_scene(folder);
  SceneOptions options;
  options.random_point_count = 300;
  const Scene scene = load_scene(folder.path(), options);
  EXPECT_EQ(scene.alpha, AlphaUse::kObject);
  EXPECT_EQ(scene.alpha_reason,
            "8 of 8 sampled photos are transparent in 25 % of their pixels or more (median 70 %)");
  EXPECT_EQ(load_photo(scene.views[0]).alpha.size(), 32u * 32);
  EXPECT_TRUE(scene.has_carved_points);
  EXPECT_FALSE(scene.has_random_points);
  EXPECT_TRUE(scene.problems.empty());
  ASSERT_EQ(scene.points.size(), 300u);
  for (const Vec3f& p : scene.points.position) EXPECT_LT(dot(p, p), 2);
}

TEST(LoadScene, DoesNotCarveFromHeldOutPhotos) {
  TestFolder folder;
  save_object_scene(folder);
  const Scene before = load_scene(folder.path(), {.random_point_count = 100});
  for (const std::size_t i : before.test_views()) save_png(ByteImage(32, 32, 4), before.views[i].image_path);
  EXPECT_EQ(
      load_scene(folder.path(), {.alpha = AlphaUse::kObject, .random_point_count = 100}).points.position,
      before.points.position);
}

TEST(LoadScene, UsesAlphaAsRequested) {
  TestFolder folder;
  save_object_scene(folder);
  const Scene scene = load_scene(folder.path(), {.alpha = AlphaUse::kBlack});
  EXPECT_EQ(scene.alpha, AlphaUse::kBlack);
  EXPECT_EQ(scene.views[3].alpha, AlphaUse::kBlack);
  EXPECT_EQ(scene.alpha_reason, "as requested");
  EXPECT_TRUE(scene.has_random_points);
  EXPECT_FALSE(scene.has_carved_points);
}

TEST(LoadScene, ObjectsThatCannotBeCarvedGetRandomPoints) {
  TestFolder folder;
  save_object_scene(folder, 2);  // too few views
  EXPECT_EQ(problems_of(folder, {.random_point_count = 100}),
            "the scene has no points to start from, and its photos do not show an object in the same place\n"
            "100 random points in front of the cameras are used instead, so training takes longer.\n");
}

TEST(LoadScene, MakesRandomPointsInViewIfThereAreNone) {
  TestFolder folder;
  save_test_scene(folder.path());
  fs::remove(folder / "sparse/0/points3D.bin");
  SceneOptions options;
  options.random_point_count = 500;
  EXPECT_EQ(problems_of(folder, options),
            "the scene has no points to start from\n"
            "500 random points in front of the cameras are used instead, so training takes longer.\n");
  const Scene scene = load_scene(folder.path(), options);
  EXPECT_TRUE(scene.has_random_points);
  ASSERT_EQ(scene.points.size(), 500u);
  for (const Vec3f& p : scene.points.position) {  // in front of some camera, and near what they look at
    EXPECT_LT(std::sqrt(dot(p, p)), 8.5f);
    bool seen = false;
    for (const SceneView& v : scene.views)
      seen |= (v.camera.camera_from_world.rotation * p + v.camera.camera_from_world.translation).z > 0;
    EXPECT_TRUE(seen);
  }
  EXPECT_EQ(load_scene(folder.path(), options).points.position, scene.points.position);
  options.seed = 2;
  EXPECT_NE(load_scene(folder.path(), options).points.position, scene.points.position);
}

TEST(LoadScene, ShrinksPhotosOnRequest) {
  TestFolder folder;
  save_test_scene(folder.path());
  SceneOptions options;
  options.max_resolution_px = 20;
  Scene scene = load_scene(folder.path(), options);
  EXPECT_EQ(scene.views[0].camera.width_px, 20);
  EXPECT_EQ(scene.views[0].camera.height_px, 15);
  EXPECT_FLOAT_EQ(scene.views[0].camera.focal_px.x, 30.5f * 20 / 32);
  EXPECT_FLOAT_EQ(scene.views[0].camera.center_px.y, 12.5f * 15 / 24);
  EXPECT_EQ(load_photo(scene.views[0]).width_px, 20);
  options = {};
  options.downscale = 2;
  scene = load_scene(folder.path(), options);
  EXPECT_EQ(scene.views[0].camera.width_px, 16);
  EXPECT_EQ(scene.views[0].image_path, folder / "images/00.png");
  for (const PosedImage& image : test_images()) save_test_picture(folder / "images_2" / image.name, 16, 12);
  scene = load_scene(folder.path(), options);
  EXPECT_EQ(scene.views[0].image_path, folder / "images_2/00.png");
  EXPECT_EQ(scene.views[0].camera.width_px, 16);
  fs::remove(folder / "images_2/04.png");  // an incomplete folder is not used
  EXPECT_EQ(load_scene(folder.path(), options).views[0].image_path, folder / "images/00.png");
}

TEST(LoadScene, UsesShrunkFolderOnlyIfNoPhotoLosesResolution) {
  TestFolder folder;
  save_test_scene(folder.path());
  std::vector<PosedImage> images = test_images();
  images[7].lens = resized(images[7].lens, 16, 12);
  save_colmap(images, test_points(), ColmapFormat::kBinary, folder / "sparse/0");
  save_test_picture(folder / "images/07.png", 16, 12);
  for (const PosedImage& i : images)
    save_test_picture(folder / "images_2" / i.name, i.lens.width_px / 2, i.lens.height_px / 2);
  SceneOptions options;
  options.max_resolution_px = 16;
  const Scene scene = load_scene(folder.path(), options);
  EXPECT_EQ(scene.views[0].image_path, folder / "images/00.png");
  EXPECT_EQ(scene.views[0].camera.width_px, 16);
  EXPECT_EQ(scene.views[7].camera.width_px, 16);
}

TEST(LoadScene, FindsMasksUnderCommonNames) {
  for (const char* mask : {"masks/03.png", "mask/03.png", "masks/03.png.png", "masks/03.mask.png"}) {
    TestFolder folder;
    save_test_scene(folder.path());
    fs::create_directories((folder / mask).parent_path());
    Image white_left(32, 24, 1);
    for (int y = 0; y < 24; ++y)
      for (int x = 0; x < 16; ++x) white_left.at(x, y, 0) = 1;
    save_png(white_left, folder / mask);
    const Scene scene = load_scene(folder.path());
    EXPECT_EQ(scene.views[3].mask_path, folder / mask);
    EXPECT_TRUE(scene.views[4].mask_path.empty());
    const Photo photo = load_photo(scene.views[3]);
    ASSERT_EQ(photo.weight.size(), 32u * 24);
    EXPECT_EQ(photo.weight[0], 255);
    EXPECT_EQ(photo.weight[31], 0);
  }
}

TEST(LoadScene, FindsMasksBesidePhotosOfModelFolder) {
  TestFolder folder;
  save_test_scene(folder.path());
  save_test_picture(folder / "masks/03.png");
  EXPECT_EQ(load_scene(folder / "sparse/0").views[3].mask_path, folder / "masks/03.png");
}

TEST(LoadScene, NeverTakesMaskForPhoto) {
  TestFolder folder;
  save_test_scene(folder.path());
  fs::create_directory(folder / "masks");
  fs::rename(folder / "images/03.png", folder / "masks/03.png");
  fs::rename(folder / "images", folder / "photos");  // makes the finder search the whole scene
  const Scene scene = load_scene(folder.path());
  EXPECT_EQ(scene.views.size(), 11u);
  ASSERT_EQ(scene.problems.size(), 1u);
  EXPECT_EQ(scene.problems[0].what, "1 photo not found: 03.png");
}

TEST(LoadScene, UndistortsPhotos) {
  TestFolder folder;
  save_test_scene(folder.path());
  std::vector<PosedImage> images = test_images();
  for (PosedImage& image : images) image.lens.radial[0] = -0.2;
  save_colmap(images, test_points(), ColmapFormat::kBinary, folder / "sparse/0");
  const Scene scene = load_scene(folder.path());
  EXPECT_TRUE(scene.problems.empty());
  const SceneView& view = scene.views[0];
  EXPECT_FALSE(view.lens.is_pinhole());
  const Photo photo = load_photo(view);
  EXPECT_EQ(photo.width_px, view.camera.width_px);
  EXPECT_EQ(photo.height_px, view.camera.height_px);
}

}  // namespace
}  // namespace stipple
