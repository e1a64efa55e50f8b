// SPDX-License-Identifier: Apache-2.0
#include "stipple/io/camera_file.h"

#include <cmath>
#include <limits>

#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

constexpr std::string_view kPose = "\"camera_from_world\": [[0, -1, 0, 4], [1, 0, 0, 5], [0, 0, 1, 6]]";

std::string camera_json(std::string_view pose, std::string_view intrinsics = "\"fx\": 500, \"fy\": 400.5") {
  return "{\"width\": 640, \"height\": 480, " + std::string(intrinsics) + ", " + std::string(pose) + "}";
}

Camera load_text(std::string_view text) {
  TestFolder folder;
  return load_camera(folder.write("camera.json", text));
}

// Returns the error message without the path.
std::string complaint(std::string_view text) {
  TestFolder folder;
  const std::filesystem::path path = folder.write("camera.json", text);
  const std::string message = error_of([&] { load_camera(path); });
  const std::string prefix = path.string() + ": ";
  EXPECT_TRUE(message.starts_with(prefix)) << message;
  return message.substr(std::min(prefix.size(), message.size()));
}

TEST(CameraFile, ReadsEveryMatrixForm) {
  const char* const forms[] = {
      "[[0, -1, 0, 4], [1, 0, 0, 5], [0, 0, 1, 6]]",
      "[[0, -1, 0, 4], [1, 0, 0, 5], [0, 0, 1, 6], [0, 0, 0, 1]]",
      "[0, -1, 0, 4, 1, 0, 0, 5, 0, 0, 1, 6]",
      "[0, -1, 0, 4, 1, 0, 0, 5, 0, 0, 1, 6, 0, 0, 0, 1.0]",
  };
  for (const char* form : forms) {
    const Camera camera = load_text(camera_json("\"camera_from_world\": " + std::string(form)));
    EXPECT_EQ(camera.width_px, 640);
    EXPECT_EQ(camera.height_px, 480);
    EXPECT_EQ(camera.focal_px, Vec2f(500, 400.5f));
    EXPECT_EQ(camera.center_px, Vec2f(320, 240));
    EXPECT_EQ(camera.camera_from_world.translation, Vec3f(4, 5, 6));
    // A quarter turn: the world's x axis is the camera's y axis.
    EXPECT_EQ(camera.camera_from_world.rotation * Vec3f(1, 0, 0), Vec3f(0, 1, 0));
    EXPECT_EQ(camera.camera_from_world.rotation * Vec3f(0, 1, 0), Vec3f(-1, 0, 0));
  }
}

TEST(CameraFile, ReadsPrincipalPoint) {
  const Camera camera = load_text(camera_json(kPose, R"("fx": 1, "fy": 2, "cx": -3.25, "cy": 0)"));
  EXPECT_EQ(camera.center_px, Vec2f(-3.25f, 0));
  EXPECT_EQ(load_text(camera_json(kPose, R"("fx": 1, "fy": 2, "cy": 7)")).center_px, Vec2f(320, 7));
}

TEST(CameraFile, RoundTripIsExact) {
  TestFolder folder;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (int i = 0; i < 100; ++i) {
    const float angle_rad = 3 * uniform(random);
    const float c = std::cos(angle_rad), s = std::sin(angle_rad);
    Camera camera;
    camera.camera_from_world.rotation = Mat3f(c, s, 0, -s, c, 0, 0, 0, 1);
    camera.camera_from_world.translation = {uniform(random) * 1e20f, uniform(random) * 1e-30f,
                                            uniform(random)};
    camera.focal_px = {1000 + uniform(random), 1e-3f * (2 + uniform(random))};
    camera.center_px = {uniform(random), 700 * uniform(random)};
    camera.width_px = 1 + i;
    camera.height_px = 65536 - i;
    save_camera(camera, folder / "camera.json");
    const Camera back = load_camera(folder / "camera.json");
    EXPECT_EQ(back.camera_from_world.rotation, camera.camera_from_world.rotation);
    EXPECT_EQ(back.camera_from_world.translation, camera.camera_from_world.translation);
    EXPECT_EQ(back.focal_px, camera.focal_px);
    EXPECT_EQ(back.center_px, camera.center_px);
    EXPECT_EQ(back.width_px, camera.width_px);
    EXPECT_EQ(back.height_px, camera.height_px);
  }
}

TEST(CameraFile, WritesNestedRows) {
  TestFolder folder;
  save_camera(load_text(camera_json(kPose)), folder / "camera.json");
  EXPECT_EQ(read_file(folder / "camera.json"),
            "{\n  \"width\": 640,\n  \"height\": 480,\n  \"fx\": 500,\n  \"fy\": 400.5,\n  \"cx\": 320,\n"
            "  \"cy\": 240,\n  \"camera_from_world\": [\n    [0, -1, 0, 4],\n    [1, 0, 0, 5],\n"
            "    [0, 0, 1, 6]\n  ]\n}\n");
}

TEST(CameraFile, ErrorsNameTheField) {
  EXPECT_EQ(complaint("{}"), "\"width\" is missing");
  EXPECT_EQ(complaint("[1, 2]"), "a JSON object is expected");
  EXPECT_EQ(complaint(camera_json(kPose, "\"fy\": 1")), "\"fx\" is missing");
  for (const char* bad : {"0", "-1", "\"500\"", "null", "1e300", "1e-300", "[500]"}) {
    EXPECT_EQ(complaint(camera_json(kPose, "\"fx\": 1, \"fy\": " + std::string(bad))),
              "\"fy\" must be a positive number");
    EXPECT_EQ(complaint("{\"width\": " + std::string(bad) + "}"),
              "\"width\" must be a whole number from 1 to 65536");
  }
  EXPECT_EQ(complaint(camera_json(kPose, R"("fx": 1, "fy": 1, "cx": "a")")),
            "\"cx\" must be a finite number");
  EXPECT_EQ(complaint("{\"width\": 65537}"), "\"width\" must be a whole number from 1 to 65536");
  EXPECT_EQ(complaint("{\"width\": 65536, \"height\": 2.5}"),
            "\"height\" must be a whole number from 1 to 65536");
}

TEST(CameraFile, RejectsInvalidPoses) {
  const auto pose = [](std::string_view value) {
    return complaint(camera_json("\"camera_from_world\": " + std::string(value)));
  };
  EXPECT_EQ(complaint(R"({"width": 1, "height": 1, "fx": 1, "fy": 1})"), "\"camera_from_world\" is missing");
  for (const char* bad :
       {"[]", "{}", "1", "null", "\"a\"", "[1, 2, 3]", "[[1, 0, 0], [0, 1, 0], [0, 0, 1]]",
        "[[1, 0, 0, 0], [0, 1, 0, 0]]", "[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0]",
        "[[1, 0, 0, 0], [0, 1, 0, 0], 1]", "[[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]]"}) {
    EXPECT_EQ(pose(bad), "\"camera_from_world\" must be 3x4 or 4x4") << bad;
  }
  EXPECT_EQ(pose("[1, 0, 0, null, 0, 1, 0, 0, 0, 0, 1, 0]"),
            "\"camera_from_world\" must hold only finite numbers");
  EXPECT_EQ(pose("[1, 0, 0, 0, [0, 1, 0, 0], [0, 0, 1, 0], 0, 0, 0, 0, 0, 0]"),
            "\"camera_from_world\" must hold only finite numbers");
  EXPECT_EQ(pose("[1, 0, 0, 1e39, 0, 1, 0, 0, 0, 0, 1, 0]"),
            "\"camera_from_world\" must hold only finite numbers");
  EXPECT_EQ(pose("[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 1]"),
            "\"camera_from_world\" must have 0 0 0 1 as its last row");
  EXPECT_EQ(pose("[1.01, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]"),
            "\"camera_from_world\" must hold a rotation: its rows are not orthonormal");
  EXPECT_EQ(pose("[1, 0, 0, 0, 0, 1, 0, 0, 0, 0, -1, 0]"),
            "\"camera_from_world\" must hold a rotation, not a reflection");
  EXPECT_NO_THROW(load_text(camera_json("\"camera_from_world\": [1.0004, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]")));
}

TEST(CameraFile, ReportsPositionOfSyntaxError) {
  const std::string message = complaint("{\n  \"width\": 640,\n  \"height\" ; 480\n}");
  EXPECT_TRUE(message.starts_with("parse error at line 3, column 12:")) << message;
  EXPECT_NE(complaint(""), "");
  EXPECT_NE(complaint("{\"width\": 1e999}"), "");
  EXPECT_NE(complaint("{\"width\": \"\xff\"}"), "");
  EXPECT_EQ(complaint(std::string(2 << 20, ' ')), "a camera file must not be larger than 1 MiB");
}

TEST(CameraFile, RejectsCorruptFiles) {
  TestFolder folder;
  const std::string whole = camera_json(kPose);
  expect_every_cut_fails(folder, "a.json", whole, load_camera);
  expect_flips_are_survived(folder, "a.json", whole, 2000, load_camera);
}

TEST(CameraFile, ReportsFailedWrite) {
  TestFolder folder;
  Camera camera;
  camera.focal_px.x = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(error_of([&] { save_camera(camera, folder / "camera.json"); }), "");
  EXPECT_EQ(folder.file_count(), 0u);
  camera.focal_px.x = 1;
  EXPECT_EQ(error_of([&] { save_camera(camera, "/dev/full"); }),
            "cannot write /dev/full: No space left on device");
}

}  // namespace
}  // namespace stipple
