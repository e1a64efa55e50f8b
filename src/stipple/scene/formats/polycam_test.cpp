// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/tools.h"
#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

namespace fs = std::filesystem;

// As Polycam writes it. `m` are the rows of the camera's matrix.
std::string camera(const std::array<double, 12>& m) {
  std::string text =
      R"({"fx": 30.5, "fy": 31.25, "cx": 15.75, "cy": 12.5, "width": 32, "height": 24, "blur_score": 120.5,
          "center_depth": 1.2, "manual_keyframe": false, "neighbors": [12, 13], "timestamp": 9223372036854)";
  for (std::size_t i = 0; i < 12; ++i) text += fmt::format(", \"t_{}{}\": {}", i / 4, i % 4, m[i]);
  return text + "}";
}

constexpr std::array<double, 12> kIdentity{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};

// ARKit's axes: a camera without rotation looks along -z, with y up.
TEST(Polycam, ReadsACamera) {
  TestFolder folder;
  for (const char* name : {"keyframes/cameras", "keyframes/corrected_cameras", "keyframes/images"})
    fs::create_directories(folder / name);
  folder.write("keyframes/corrected_cameras/100.json", camera({1, 0, 0, 5, 0, 1, 0, 6, 0, 0, 1, 7}));
  folder.write("keyframes/cameras/100.json", camera(kIdentity));
  const auto found = find_polycam(folder.path());
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, folder / "keyframes/corrected_cameras");  // rather than the tracked ones
  const SceneSource source = read_polycam(*found);
  ASSERT_EQ(source.images.size(), 1u);
  EXPECT_EQ(source.images[0].name, "100.jpg");
  EXPECT_EQ(source.image_folders, (std::vector<fs::path>{"corrected_images"}));
  const RigidTransform& pose = source.images[0].camera_from_world;
  EXPECT_EQ(pose.rotation * Vec3f(5, 6, 3) + pose.translation, Vec3f(0, 0, 4));   // ahead
  EXPECT_EQ(pose.rotation * Vec3f(5, 9, 7) + pose.translation, Vec3f(0, -3, 0));  // above
  const Lens lens = resolve_lens(source.images[0].lens, 1, 1);
  EXPECT_EQ(lens.focal_px, Vec2<double>(30.5, 31.25));
  EXPECT_EQ(lens.center_px, Vec2<double>(15.75, 12.5));
}

TEST(Polycam, FindsTrackedCamerasAndTheirPhotos) {
  TestFolder folder;
  fs::create_directories(folder / "keyframes/cameras");
  folder.write("keyframes/cameras/7.json", camera(kIdentity));
  save_test_picture(folder / "keyframes/images/7.png");
  for (const fs::path& given : {folder.path(), folder / "keyframes"}) {
    const Scene scene = load_scene(given);
    EXPECT_EQ(scene.format, "Polycam (cameras)");
    EXPECT_EQ(scene.views.at(0).image_path, folder / "keyframes/images/7.png");
  }
}

TEST(Polycam, LeavesOutAndCountsWhatItCannotUse) {
  TestFolder folder;
  fs::create_directories(folder / "cameras");
  folder.write("cameras/1.json", camera(kIdentity));
  folder.write("cameras/2.json", "[]");
  folder.write("cameras/3.json", "{\"t_00\": ");
  folder.write("cameras/4.json", "{\"t_00\": 1, \"fx\": 3}");
  folder.write("cameras/5.json", camera({-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0}));  // a reflection
  std::string blind = camera(kIdentity);
  blind.replace(blind.find("\"fx\": 30.5, \"fy\": 31.25,"), 25, "");
  folder.write("cameras/6.json", blind);
  const auto found = find_polycam(folder.path());
  ASSERT_TRUE(found);
  const SceneSource source = read_polycam(*found);
  EXPECT_EQ(source.images.size(), 1u);
  std::string problems;
  for (const SceneProblem& p : source.problems) problems += p.what + "\n";
  EXPECT_EQ(problems,
            "2 records that cannot be read, such as 2.json\n"
            "2 images with an invalid pose, such as 4.jpg\n"
            "1 image with an unusable camera: its focal length is missing\n");
}

}  // namespace
}  // namespace stipple
