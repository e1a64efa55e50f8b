// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/save_scene.h"

#include <set>

#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

namespace fs = std::filesystem;

Lens full_lens() {
  Lens lens = test_lens();
  lens.model = "FULL_OPENCV";
  lens.radial = {-0.1, 0.02, 0.003, 0.01, -0.002, 0.0005};
  lens.tangential = {0.001, -0.002};
  return lens;
}

// A Metashape scene, with a mask for one of the photos and a photo in a sub-folder.
Scene metashape_scene(const TestFolder& folder) {
  std::vector<PosedImage> images = test_images();
  Lens lens = test_lens();
  lens.radial = {-0.1, 0.02, 0.003};
  lens.tangential = {0.001, -0.002};
  for (PosedImage& image : images) image.lens = lens;
  images[3].name = "left/03.png";
  for (const PosedImage& image : images) save_test_picture(folder / "a/images" / image.name);
  save_metashape(images, test_points(), folder / "a");
  save_test_picture(folder / "a/masks/left/03.png");
  return load_scene(folder / "a");
}

void expect_same(const Scene& a, const Scene& b) {
  ASSERT_EQ(a.views.size(), b.views.size());
  for (std::size_t i = 0; i < a.views.size(); ++i) {
    EXPECT_EQ(a.views[i].lens.focal_px, b.views[i].lens.focal_px);
    EXPECT_EQ(a.views[i].lens.center_px, b.views[i].lens.center_px);
    EXPECT_EQ(a.views[i].lens.radial, b.views[i].lens.radial);
    EXPECT_EQ(a.views[i].lens.tangential, b.views[i].lens.tangential);
    EXPECT_EQ(a.views[i].lens.kind, b.views[i].lens.kind);
    EXPECT_EQ(a.views[i].is_test, b.views[i].is_test);
    EXPECT_EQ(a.views[i].mask_path.empty(), b.views[i].mask_path.empty());
    EXPECT_EQ(read_file(a.views[i].image_path), read_file(b.views[i].image_path));
    const RigidTransform &p = a.views[i].camera.camera_from_world, &q = b.views[i].camera.camera_from_world;
    for (int k = 0; k < 3; ++k) {
      for (int r = 0; r < 3; ++r) EXPECT_NEAR(p.rotation[k][r], q.rotation[k][r], 1e-6);
      EXPECT_NEAR(p.translation[k], q.translation[k], 1e-6);
    }
  }
  EXPECT_EQ(a.points.position, b.points.position);
  EXPECT_EQ(a.points.color, b.points.color);
}

TEST(SaveScene, KeepsCamerasDistortionPointsPhotosAndMasks) {
  TestFolder folder;
  const Scene scene = metashape_scene(folder);
  for (const char* format : {"colmap", "colmap-text", "transforms"}) {
    std::size_t done = 0;
    const auto problems =
        save_scene(scene, folder / format, {.format = format, .on_photo = [&](std::size_t n) { done = n; }});
    EXPECT_EQ(problems.size(), 0u);
    EXPECT_EQ(done, 12u);
    const Scene converted = load_scene(folder / format);
    expect_same(scene, converted);
    EXPECT_TRUE(fs::exists(folder / format / "masks/left/03.png.png"));
    EXPECT_EQ(converted.problems.size(), 0u);
  }
}

TEST(SaveScene, KeepsEveryTermOfALens) {
  for (const char* format : {"colmap", "transforms"}) {
    for (const bool is_fisheye : {false, true}) {
      TestFolder folder;
      std::vector<PosedImage> images = test_images(6);
      images[5].lens = full_lens();
      if (is_fisheye) {
        images[5].lens.kind = Lens::Kind::kFisheye;
        images[5].lens.radial = {0.01, 0.02, 0.003, 0.004};
        images[5].lens.tangential = {};
      }
      for (const PosedImage& image : images) save_test_picture(folder / "a/images" / image.name);
      fs::create_directories(folder / "a/sparse/0");
      save_colmap(images, test_points(), ColmapFormat::kText, folder / "a/sparse/0");
      const Scene scene = load_scene(folder / "a");
      save_scene(scene, folder / "b", {.format = format});
      const Scene converted = load_scene(folder / "b");
      expect_same(scene, converted);
      EXPECT_EQ(converted.views[5].lens.radial, images[5].lens.radial);
    }
  }
}

// With names without an extension, and test views that the data name.
TEST(SaveScene, KeepsTestViewsWhereTheFormatCan) {
  TestFolder folder;
  const std::string matrix = R"("transform_matrix":[[1,0,0,0],[0,1,0,0],[0,0,1,4],[0,0,0,1]])";
  fs::create_directories(folder / "a");
  for (const char* part : {"train", "test"}) {
    for (const char* name : {"r_0", "r_1"})
      save_test_picture(folder / "a" / part / (std::string(name) + ".png"));
    folder.write(
        fmt::format("a/transforms_{}.json", part),
        fmt::format(
            R"({{"camera_angle_x":0.8,"frames":[{{"file_path":"{0}/r_0",{1}}},{{"file_path":"{0}/r_1",{1}}}]}})",
            part, matrix));
  }
  const Scene scene = load_scene(folder / "a", {.random_point_count = 100});
  EXPECT_EQ(save_scene(scene, folder / "b", {.format = "transforms"}).size(), 0u);
  const Scene converted = load_scene(folder / "b", {.random_point_count = 100});
  EXPECT_EQ(converted.test_views().size(), 2u);
  EXPECT_TRUE(converted.has_random_points);  // the scene has no points of its own
  EXPECT_FALSE(fs::exists(folder / "b/points.ply"));
  for (const SceneView& v : converted.views)
    EXPECT_EQ(v.is_test, v.name.find("test/") != v.name.npos) << v.name;
  EXPECT_EQ(save_scene(scene, folder / "c", {.format = "colmap"}).at(0).what,
            "the scene names its test views, which this format cannot");
  EXPECT_EQ(load_scene(folder / "c", {.random_point_count = 100}).views.size(), 4u);
}

TEST(SaveScene, LinksOrLeavesPhotos) {
  TestFolder folder;
  const Scene scene = metashape_scene(folder);
  save_scene(scene, folder / "b", {.photos = PhotoTransfer::kLink});
  EXPECT_TRUE(fs::is_symlink(folder / "b/images/left/03.png"));
  expect_same(scene, load_scene(folder / "b"));
  // Copies replace the links, and do not write through them.
  save_scene(scene, folder / "b", {.overwrite = true});
  EXPECT_FALSE(fs::is_symlink(folder / "b/images/left/03.png"));
  expect_same(scene, load_scene(folder / "b"));
  save_scene(scene, folder / "c", {.photos = PhotoTransfer::kNone});
  EXPECT_FALSE(fs::exists(folder / "c/images"));
  EXPECT_NE(error_of([&] { load_scene(folder / "c"); }).find("12 photos not found"), std::string::npos);
}

TEST(SaveScene, RefusesFoldersThatHoldSomethingElse) {
  TestFolder folder;
  const Scene scene = metashape_scene(folder);
  const auto error = [&](const fs::path& to, SaveSceneOptions options = {}) {
    return error_of([&] { save_scene(scene, to, options); });
  };
  for (const fs::path& own :
       {folder / "a", folder / "a/", folder / "a/../a", folder / "a/new", folder.path()})
    EXPECT_NE(error(own, {.overwrite = true}).find("overlaps with that of the scene"), std::string::npos)
        << own;
  fs::create_symlink(folder / "a", folder / "link");
  EXPECT_NE(error(folder / "link").find("overlaps with that of the scene"), std::string::npos);
  fs::create_directories(folder / "full/sparse/0");
  EXPECT_NE(error(folder / "full").find("this folder is not empty"), std::string::npos);
  EXPECT_EQ(error(folder / "full", {.overwrite = true}), "");
  EXPECT_NE(error(folder / "full", {.format = "transforms", .overwrite = true}).find("would be read instead"),
            std::string::npos);
  folder.write("file", "");
  EXPECT_NE(error(folder / "file").find("this is not a folder"), std::string::npos);
}

// With a mask and a photo in a sub-folder; but not all formats have the lens of metashape_scene().
TEST(SaveScene, PutsPhotosAndMasksWhereEveryFormatHasThem) {
  TestFolder folder;
  std::vector<PosedImage> images = test_images();
  for (PosedImage& image : images) image.lens.focal_px = {31.25, 31.25};
  images[3].name = "left/03.png";
  for (const PosedImage& image : images) save_test_picture(folder / "a/images" / image.name);
  save_metashape(images, test_points(), folder / "a");
  save_test_picture(folder / "a/masks/left/03.png");
  const SceneOptions options{.random_point_count = 100};  // for Polycam, which has none
  const Scene scene = load_scene(folder / "a");
  for (const SceneWriter& writer : scene_writers()) {
    const std::string format(writer.name);
    save_scene(scene, folder / format, {.format = format});
    const Scene converted = load_scene(folder / format, options);
    ASSERT_EQ(converted.views.size(), 12u) << format;
    std::size_t mask_count = 0;
    for (const SceneView& view : converted.views) mask_count += !view.mask_path.empty();
    EXPECT_EQ(mask_count, 1u) << format;
  }
}

TEST(SaveScene, PhotosOfPolycamGetDifferentNames) {
  TestFolder folder;
  std::vector<PosedImage> images = test_images(5);
  const char* names[] = {"a.png", "a.jpg", "b/a.png", "b_a.png", "c.png"};
  for (std::size_t i = 0; i < 5; ++i) {
    images[i].name = names[i];
    images[i].camera_from_world.translation.x = static_cast<float>(i);
    save_test_picture(folder / "a/images/any.png");
    fs::create_directories((folder / "a/images" / names[i]).parent_path());
    fs::copy_file(folder / "a/images/any.png", folder / "a/images" / names[i]);
  }
  fs::create_directories(folder / "a/sparse/0");
  save_colmap(images, test_points(), ColmapFormat::kBinary, folder / "a/sparse/0");
  save_scene(load_scene(folder / "a"), folder / "b", {.format = "polycam"});
  const Scene converted = load_scene(folder / "b", {.random_point_count = 100});
  std::set<std::string> files;
  std::set<float> places;
  for (const SceneView& view : converted.views) {
    files.insert(view.image_path.filename().string());
    places.insert(view.camera.camera_from_world.translation.x);
  }
  EXPECT_EQ(files, (std::set<std::string>{"a.jpg", "a_2.png", "b_a.png", "b_a_2.png", "c.png"}));
  EXPECT_EQ(places.size(), 5u);
}

TEST(SaveScene, RefusesNamesThatAFormatCannotWriteBeforeItCopies) {
  TestFolder folder;
  std::vector<PosedImage> images = test_images(3);
  images[1].name = "caf\xe9.png";
  for (const PosedImage& image : images) save_test_picture(folder / "a/images" / image.name);
  fs::create_directories(folder / "a/sparse/0");
  save_colmap(images, test_points(), ColmapFormat::kBinary, folder / "a/sparse/0");
  const Scene scene = load_scene(folder / "a");
  for (const char* format : {"transforms", "opensfm", "openmvg", "metashape"}) {
    const std::string message = error_of([&] { save_scene(scene, folder / "b", {.format = format}); });
    EXPECT_NE(message.find("caf\xe9.png: the name of this photo is not UTF-8"), std::string::npos) << message;
    EXPECT_FALSE(fs::exists(folder / "b"));
  }
  save_scene(scene, folder / "c", {.format = "colmap-text"});
  EXPECT_EQ(load_scene(folder / "c").views.size(), 3u);
}

TEST(SaveScene, RefusesAnUnknownFormat) {
  TestFolder folder;
  const Scene scene = metashape_scene(folder);
  EXPECT_EQ(error_of([&] { save_scene(scene, folder / "b", {.format = "colmop"}); }),
            "there is no format of scenes named 'colmop'");
}

// What was there before is not taken for the scene that was to be written.
TEST(SaveScene, LeavesNoOldSceneIfInterruptedWhileItOverwrites) {
  TestFolder folder;
  const Scene scene = metashape_scene(folder);
  const auto stop = [](std::size_t) { throw Error("stopped"); };
  for (const char* format : {"colmap", "colmap-text", "transforms", "opensfm", "metashape"}) {
    save_scene(scene, folder / format, {.format = format});
    EXPECT_EQ(error_of([&] {
                save_scene(scene, folder / format, {.format = format, .overwrite = true, .on_photo = stop});
              }),
              "stopped");
    EXPECT_NE(error_of([&] { load_scene(folder / format); }), "") << format;
  }
}

TEST(SaveScene, LeavesNoOldPoints) {
  TestFolder folder;
  Scene scene = metashape_scene(folder);
  for (const char* format : {"transforms", "metashape"}) {
    save_scene(scene, folder / format, {.format = format});
    EXPECT_TRUE(fs::exists(folder / format / "points.ply"));
    Scene without = scene;
    without.points = {};
    save_scene(without, folder / format, {.format = format, .overwrite = true});
    EXPECT_FALSE(fs::exists(folder / format / "points.ply"));
  }
}

TEST(SaveScene, LeavesNoSceneIfInterrupted) {
  TestFolder folder;
  const Scene scene = metashape_scene(folder);
  const auto stop = [](std::size_t) { throw Error("stopped"); };
  EXPECT_EQ(error_of([&] { save_scene(scene, folder / "b", {.on_photo = stop}); }), "stopped");
  EXPECT_THROW(load_scene(folder / "b"), NotAScene);
}

}  // namespace
}  // namespace stipple
