// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "stipple/scene/formats/tools.h"
#include "tests/helpers/test_scene.h"

namespace stipple {
namespace {

// As OpenSfM writes it, with fields that are not read, too.
constexpr const char* kReconstruction = R"([{
  "cameras": {
    "v2 dji fc6310r 5472 3648 brown 0.6666": {
      "projection_type": "brown", "width": 1368, "height": 912,
      "focal_x": 0.6664, "focal_y": 0.6668, "c_x": -0.0015, "c_y": 0.0047,
      "k1": -0.26, "k2": 0.1, "p1": 0.0007, "p2": 0.0002, "k3": -0.025},
    "phone": {"projection_type": "perspective", "width": 480, "height": 640, "focal": 0.9, "k1": 0.01, "k2": -0.02},
    "action": {"projection_type": "fisheye", "width": 640, "height": 480, "focal": 0.5, "k1": 0.05, "k2": 0.006},
    "dome": {"projection_type": "spherical", "width": 2000, "height": 1000}
  },
  "biases": {"phone": {"rotation": [0, 0, 0], "translation": [0, 0, 0], "scale": 1}},
  "shots": {
    "a.JPG": {"rotation": [0.0, 1.5707963267948966, 0.0], "translation": [1, 2, 3],
      "camera": "v2 dji fc6310r 5472 3648 brown 0.6666", "orientation": 1, "capture_time": 1551272138.0,
      "gps_dop": NaN, "gps_position": [-24.1, -4.1, 90.2], "vertices": [], "faces": [], "scale": 1.0},
    "b.JPG": {"rotation": [0, 0, 0], "translation": [0, 0, 0], "camera": "phone"},
    "c.JPG": {"rotation": [0, 0, 0], "translation": [0, 0, 0], "camera": "action"},
    "d.JPG": {"rotation": [0, 0, 0], "translation": [0, 0, 0], "camera": "dome"},
    "e.JPG": {"rotation": [0, 0, 0], "translation": [0, 0, 0], "camera": "lost"},
    "f.JPG": {"rotation": [0, 0], "translation": [0, 0, 0], "camera": "phone"},
    "g.JPG": {"rotation": [0, 0, NaN], "translation": [0, 0, 0], "camera": "phone"},
    "h.JPG": 7
  },
  "points": {
    "12": {"color": [255.0, 128.4, 0.0], "coordinates": [1.5, -2.5, 3.5]},
    "13": {"color": [300, -5, 7], "coordinates": [0, 0, 1e300]},
    "14": {"color": [1, 2, 3], "coordinates": [0, NaN, 1]},
    "15": {"coordinates": [4, 5, 6]}
  },
  "reference_lla": {"latitude": -33.6, "longitude": 22.5, "altitude": 0.0}
}])";

SceneSource read(const std::string& text) {
  TestFolder folder;
  return read_opensfm(folder.write("reconstruction.json", text));
}

std::string problems(const SceneSource& source) {
  std::string text;
  for (const SceneProblem& p : source.problems) text += p.what + "\n";
  return text;
}

TEST(OpenSfm, ReadsAReconstruction) {
  const SceneSource source = read(kReconstruction);
  ASSERT_EQ(source.images.size(), 3u);
  const Lens brown = resolve_lens(source.images[0].lens, 1, 1);
  EXPECT_NEAR(brown.focal_px.x, 0.6664 * 1368, 1e-9);
  EXPECT_NEAR(brown.focal_px.y, 0.6668 * 1368, 1e-9);
  EXPECT_NEAR(brown.center_px.x, 684 - 0.0015 * 1368, 1e-9);
  EXPECT_NEAR(brown.center_px.y, 456 + 0.0047 * 1368, 1e-9);
  EXPECT_EQ(brown.radial, (std::array<double, 6>{-0.26, 0.1, -0.025}));
  EXPECT_EQ(brown.tangential, (std::array<double, 2>{0.0007, 0.0002}));
  const Lens phone = resolve_lens(source.images[1].lens, 1, 1);
  EXPECT_NEAR(phone.focal_px.x, 0.9 * 640, 1e-9);  // of the longer side, which is the height
  EXPECT_NEAR(phone.focal_px.y, 0.9 * 640, 1e-9);
  EXPECT_EQ(phone.center_px, Vec2<double>(240, 320));
  const Lens action = resolve_lens(source.images[2].lens, 1, 1);
  EXPECT_EQ(action.kind, Lens::Kind::kFisheye);
  EXPECT_EQ(action.radial, (std::array<double, 6>{0.05, 0.006}));
}

// A turn by 90 degrees about y takes z to x and x to -z: R (4, 0, 0) + t = (0, 0, -4) + (1, 2, 3).
TEST(OpenSfm, ReadsRotationsOfPoints) {
  const SceneSource source = read(kReconstruction);
  const RigidTransform& pose = source.images.at(0).camera_from_world;
  const Vec3f p = pose.rotation * Vec3f(4, 0, 0) + pose.translation;
  EXPECT_NEAR(p.x, 1, 1e-6);
  EXPECT_NEAR(p.y, 2, 1e-6);
  EXPECT_NEAR(p.z, -1, 1e-6);
  EXPECT_EQ(source.images.at(1).camera_from_world.translation, Vec3f(0, 0, 0));
}

TEST(OpenSfm, ReadsPoints) {
  const SceneSource source = read(kReconstruction);
  EXPECT_EQ(source.points.position, (std::vector<Vec3f>{{1.5f, -2.5f, 3.5f}, {4, 5, 6}}));
  EXPECT_EQ(source.points.color, (std::vector<std::array<std::uint8_t, 3>>{{255, 128, 0}, {128, 128, 128}}));
}

TEST(OpenSfm, LeavesOutAndCountsWhatItCannotUse) {
  EXPECT_EQ(problems(read(kReconstruction)),
            "1 record that cannot be read: h.JPG\n"
            "2 images with an invalid pose, such as f.JPG\n"
            "1 image with an unusable camera: camera dome: the projection type spherical is not supported; "
            "undistort "
            "the images first\n"
            "1 image with an unusable camera: camera lost is not in the file\n"
            "2 points that cannot be read, such as reconstruction.json\n");
}

TEST(OpenSfm, UsesTheLargestReconstruction) {
  const auto one = [](const std::string& shots, int x) {
    return R"({"cameras":{"c":{"projection_type":"perspective","width":32,"height":24,"focal":1}},"shots":{)" +
           shots + R"(},"points":{"0":{"coordinates":[)" + std::to_string(x) +
           R"(,0,0]},"1":{"coordinates":[0,0,0]}}})";
  };
  const auto shot = [](const std::string& name) {
    return "\"" + name + R"(":{"camera":"c","rotation":[0,0,0],"translation":[0,0,0]})";
  };
  const SceneSource source =
      read("[" + one(shot("a"), 1) + ", 3, " + one(shot("b") + "," + shot("c"), 2) + "," + one("", 3) + "]");
  ASSERT_EQ(source.images.size(), 2u);
  EXPECT_EQ(source.images[0].name, "b");
  EXPECT_EQ(source.points.position, (std::vector<Vec3f>{{2, 0, 0}, {0, 0, 0}}));
  EXPECT_EQ(problems(source), "4 reconstructions: 1 image, 0 images, 2 images, 0 images\n");
}

// ODM: the project's folder has images/ and opensfm/reconstruction.json.
TEST(OpenSfm, FindsTheFoldersOfOdm) {
  TestFolder folder;
  std::filesystem::create_directories(folder / "opensfm");
  for (const PosedImage& image : test_images()) save_test_picture(folder / "images" / image.name);
  save_opensfm(test_images(), test_points(), folder / "opensfm");
  EXPECT_EQ(load_scene(folder.path()).views.size(), 12u);
  EXPECT_EQ(load_scene(folder / "opensfm").views.size(), 12u);
  EXPECT_EQ(problems_of(folder), "");
}

TEST(OpenSfm, RejectsOtherJson) {
  for (const char* text : {"{}", "[]", "[1, 2]", "7"})
    EXPECT_NE(error_of([&] { read(text); }).find("this is not one of OpenSfM"), std::string::npos) << text;
  EXPECT_NE(error_of([] { read("[{"); }).find("is not valid JSON"), std::string::npos);
}

}  // namespace
}  // namespace stipple
