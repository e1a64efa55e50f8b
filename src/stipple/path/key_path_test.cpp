// SPDX-License-Identifier: Apache-2.0
#include "stipple/path/key_path.h"

#include <algorithm>
#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/io/camera_json.h"
#include "tests/helpers/source_folder.h"
#include "tests/helpers/test_folder.h"

namespace stipple {
namespace {

std::string keyframe(std::string_view time, int focal_px = 50) {
  return "{\"time\": " + std::string(time) +
         ", \"camera\": {\"width\": 64, \"height\": 48, \"fx\": " + std::to_string(focal_px) +
         ", \"fy\": 50, \"camera_from_world\": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]}}";
}

std::string path_json(std::string_view keyframes, std::string_view rest = "\"fps\": 10") {
  return "{\"stipple_path\": 1, " + std::string(rest) + ", \"keyframes\": [" + std::string(keyframes) + "]}";
}

KeyPath load_text(std::string_view text) {
  TestFolder folder;
  return load_key_path(folder.write("flight.json", text));
}

// Returns the error message without the path.
std::string complaint(std::string_view text) {
  TestFolder folder;
  const std::filesystem::path path = folder.write("flight.json", text);
  const std::string message = error_of([&] { load_key_path(path); });
  const std::string prefix = path.string() + ": ";
  EXPECT_TRUE(message.starts_with(prefix)) << message;
  return message.substr(std::min(prefix.size(), message.size()));
}

// Cameras along the x axis that look along z.
KeyPath along_x(const std::vector<std::pair<double, float>>& times_and_places, bool is_closed = false) {
  KeyPath path;
  for (const auto& [time, x] : times_and_places) {
    Camera camera{{}, {50, 50}, {32, 24}, 64, 48};
    camera.camera_from_world.translation.x = -x;
    path.keyframes.push_back({time, camera});
  }
  path.is_closed = is_closed;
  path.duration_s = times_and_places.back().first - times_and_places.front().first;
  return path;
}

std::vector<float> places(const KeyPath& path, int frame_count) {
  std::vector<float> places;
  for (const PathFrame& f : frames_along(path, frame_count)) places.push_back(center_of(f.camera).x);
  return places;
}

// The files in tests/data/path come from a program that was written after docs/formats.md alone.
void expect_frames_of_file(const std::string& name, std::size_t frame_count) {
  const std::filesystem::path folder = std::filesystem::path(source_folder()) / "tests/data/path";
  const KeyPath path = load_key_path(folder / (name + ".json"));
  const NamedJson expected = load_own_json(folder / (name + "_frames.json"), 1 << 20, "a list of cameras");
  ASSERT_EQ(expected.value.size(), frame_count);
  const auto frames = frames_along(path, frame_count_of(path, path.frames_per_second));
  ASSERT_EQ(frames.size(), frame_count);
  for (std::size_t i = 0; i < frame_count; ++i) {
    SCOPED_TRACE(i);
    const Camera& a = frames[i].camera;
    const Camera b = camera_from(JsonFields(expected.value[i], name));
    EXPECT_EQ(a.width_px, b.width_px);
    EXPECT_EQ(a.height_px, b.height_px);
    EXPECT_NEAR(a.focal_px.x, b.focal_px.x, 1e-2f);
    EXPECT_NEAR(a.focal_px.y, b.focal_px.y, 1e-2f);
    EXPECT_NEAR(a.center_px.x, b.center_px.x, 1e-3f);
    EXPECT_NEAR(a.center_px.y, b.center_px.y, 1e-3f);
    for (int row = 0; row < 3; ++row) {
      EXPECT_NEAR(a.camera_from_world.translation[row], b.camera_from_world.translation[row], 1e-5f);
      for (int column = 0; column < 3; ++column)
        EXPECT_NEAR(a.camera_from_world.rotation[column][row], b.camera_from_world.rotation[column][row],
                    1e-6f);
    }
  }
}

TEST(KeyPath, FollowsTheDescribedCurve) {
  expect_frames_of_file("flight", 24);
  expect_frames_of_file("loop", 16);
}

TEST(KeyPath, ReadsEveryField) {
  const KeyPath path = load_text(path_json(keyframe("2") + ", " + keyframe("3.5"),
                                           R"("fps": 24, "closed": true, "duration": 5, "x": 1)"));
  ASSERT_EQ(path.keyframes.size(), 2u);
  EXPECT_EQ(path.keyframes[1].time_s, 3.5);
  EXPECT_EQ(path.keyframes[1].camera.width_px, 64);
  EXPECT_EQ(path.frames_per_second, 24);
  EXPECT_TRUE(path.is_closed);
  EXPECT_EQ(path.duration_s, 5);
}

TEST(KeyPath, HasDefaults) {
  const KeyPath open = load_text(path_json(keyframe("2") + ", " + keyframe("3.5"), "\"duration\": 9"));
  EXPECT_EQ(open.frames_per_second, 30);
  EXPECT_FALSE(open.is_closed);
  EXPECT_EQ(open.duration_s, 1.5) << "an open path ends at its last key frame";
  EXPECT_EQ(load_text(path_json(keyframe("2") + ", " + keyframe("3.5"), "\"closed\": true")).duration_s, 3);
  EXPECT_EQ(load_text(path_json(keyframe("2"), "\"closed\": true")).duration_s, 1);
}

TEST(KeyPath, CountsFrames) {
  KeyPath path = along_x({{1, 0}, {3, 1}});
  EXPECT_EQ(frame_count_of(path, 10), 21);
  EXPECT_EQ(frame_count_of(path, 0.1), 1);
  path.is_closed = true;
  EXPECT_EQ(frame_count_of(path, 10), 20);
  EXPECT_EQ(frame_count_of(path, 0.1), 1);
}

TEST(KeyPath, ReachesKeyFramesAtTheirTimes) {
  const std::vector<float> x = places(along_x({{0, 0}, {1, 4}, {1.5, 5}, {4, 7}}), 41);
  EXPECT_NEAR(x[0], 0, 1e-6f);
  EXPECT_NEAR(x[10], 4, 1e-5f);
  EXPECT_NEAR(x[15], 5, 1e-5f);
  EXPECT_NEAR(x[40], 7, 1e-5f);
}

TEST(KeyPath, NeverTurnsBackBetweenKeyFrames) {
  const std::vector<float> x = places(along_x({{0, 0}, {0.1, 4}, {3, 4.1f}, {3.1, 9}, {7, 10}}), 500);
  EXPECT_TRUE(std::is_sorted(x.begin(), x.end()));
}

TEST(KeyPath, RestsBetweenEqualKeyFrames) {
  const std::vector<float> x = places(along_x({{0, 0}, {1, 3}, {2, 3}, {3, 8}}), 301);
  for (int i = 100; i <= 200; ++i) EXPECT_NEAR(x[static_cast<std::size_t>(i)], 3, 1e-3f) << i;
  EXPECT_LT(x[100] - x[98], 0.2f * (x[50] - x[48])) << "it slows down before";
}

TEST(KeyPath, ClosedPathGoesOnWithoutABump) {
  KeyPath path = along_x({{0, 0}, {1, 3}, {2, 5}, {3, 2}}, true);
  path.duration_s = 4;
  std::vector<float> x = places(path, 400);
  EXPECT_NEAR(x[0], 0, 1e-6f);
  const float before = x[0] - x[399], after = x[1] - x[0];
  EXPECT_NEAR(before, after, 5e-3f);
  EXPECT_NEAR(x[300], 2, 1e-5f);
}

TEST(KeyPath, ZoomsInPlace) {
  KeyPath path = along_x({{0, 0}, {1, 0}});
  path.keyframes[1].camera.focal_px = {200, 200};
  const auto frames = frames_along(path, 3);
  EXPECT_NEAR(frames[1].camera.focal_px.x, 100, 1e-3f) << "halfway from 50 to 200, by their ratio";
  EXPECT_NEAR(frames[2].camera.focal_px.x, 200, 1e-3f);
}

TEST(KeyPath, OneKeyFrameIsAStill) {
  for (const bool is_closed : {false, true}) {
    KeyPath path = along_x({{5, 2}}, is_closed);
    if (is_closed) path.duration_s = 1;
    const auto frames = frames_along(path, 3);
    ASSERT_EQ(frames.size(), 3u);
    EXPECT_EQ(frames[2].name, "0003.png");
    for (const PathFrame& f : frames) EXPECT_NEAR(center_of(f.camera).x, 2, 1e-6f);
  }
}

TEST(KeyPath, FramesHaveTheEvenSizeOfTheFirst) {
  KeyPath path = along_x({{0, 0}, {1, 1}});
  path.keyframes[0].camera.width_px = 65;
  path.keyframes[1].camera = {{}, {100, 100}, {64, 48}, 128, 96};
  const auto frames = frames_along(path, 2);
  for (const PathFrame& f : frames) {
    EXPECT_EQ(f.camera.width_px, 64);
    EXPECT_EQ(f.camera.height_px, 48);
  }
  EXPECT_NEAR(frames[1].camera.focal_px.x, 50, 1e-4f);
}

TEST(KeyPath, ErrorsNameTheField) {
  EXPECT_EQ(complaint("{}"), "\"stipple_path\" is missing");
  EXPECT_EQ(complaint("[]"), "a JSON object is expected");
  EXPECT_EQ(complaint("{\"stipple_path\": 2}"), "\"stipple_path\" must be a whole number from 1 to 1");
  EXPECT_EQ(complaint("{\"stipple_path\": 1}"), "\"keyframes\" is missing");
  EXPECT_EQ(complaint(path_json("")), "\"keyframes\" must be a list that is not empty");
  EXPECT_EQ(complaint(path_json("5")), "\"keyframes[0]\" must be an object");
  EXPECT_EQ(complaint(path_json("{\"time\": 0}")), "\"keyframes[0].camera\" is missing");
  EXPECT_EQ(complaint(path_json("{\"time\": 0, \"camera\": []}")),
            "\"keyframes[0].camera\" must be an object");
  EXPECT_EQ(complaint(path_json(keyframe("0") + ", {\"time\": 1, \"camera\": {}}")),
            "\"keyframes[1].camera.width\" is missing");
  EXPECT_EQ(complaint(path_json(keyframe("0", 0))), "\"keyframes[0].camera.fx\" must be a positive number");
  for (const char* bad : {"null", "\"1\"", "-1e9", "1e300"})
    EXPECT_EQ(complaint(path_json(keyframe(bad))),
              "\"keyframes[0].time\" must be a number from -86400 to 86400");
  for (const char* second : {"1", "1.0005", "0"})
    EXPECT_EQ(complaint(path_json(keyframe("1") + ", " + keyframe(second))),
              "\"keyframes[1].time\" must be at least 0.001 seconds after that of the key frame before");
  EXPECT_EQ(complaint(path_json(keyframe("1"), "\"fps\": 0")), "\"fps\" must be a number from 0.1 to 240");
  EXPECT_EQ(complaint(path_json(keyframe("1"), "\"closed\": 1")), "\"closed\" must be true or false");
  EXPECT_EQ(complaint(path_json(keyframe("1") + ", " + keyframe("3"), R"("closed": true, "duration": 2)")),
            "\"duration\" must be a number from 2.001 to 259200");
  EXPECT_EQ(complaint(std::string(17 << 20, ' ')), "a camera path must not be larger than 16 MiB");
}

TEST(KeyPath, EveryTruncationIsAnError) {
  const TestFolder folder;
  expect_every_cut_fails(folder, "flight.json", path_json(keyframe("1")),
                         [](const std::filesystem::path& path) { load_key_path(path); });
}

}  // namespace
}  // namespace stipple
