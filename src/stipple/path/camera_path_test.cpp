// SPDX-License-Identifier: Apache-2.0
#include "stipple/path/camera_path.h"

#include <gtest/gtest.h>

#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/core/error.h"
#include "stipple/scene/layout.h"
#include "stipple/scene/random_points.h"

namespace stipple {
namespace {

constexpr float kTurn = 6.2831853f;
const Vec3f kUp(0, 0, 1), kFocus(1, 2, 0.5f);

float length(Vec3f v) { return std::sqrt(dot(v, v)); }

SceneView view_at(Vec3f place, Vec3f target = kFocus) {
  SceneView view;
  view.camera = {look_at(place, target, kUp), {60, 61}, {32, 24}, 64, 48};
  return view;
}

Vec3f on_ring(float angle_rad, float height = 1) {
  return kFocus + Vec3f(4 * std::cos(angle_rad), 4 * std::sin(angle_rad), height);
}

Scene scene_of(std::vector<SceneView> views) {
  Scene scene;
  scene.views = std::move(views);
  return scene;
}

Scene ring(int count, float arc_rad = kTurn, float height_wave = 0) {
  std::vector<SceneView> views;
  for (int i = 0; i < count; ++i) {
    const float t = static_cast<float>(i) / static_cast<float>(count);
    views.push_back(view_at(on_ring(t * arc_rad, 1 + height_wave * std::sin(40 * t))));
  }
  return scene_of(std::move(views));
}

float turn_between(const Camera& a, const Camera& b) {  // rad
  const Mat3f m = a.camera_from_world.rotation * transpose(b.camera_from_world.rotation);
  return std::acos(std::clamp((m[0].x + m[1].y + m[2].z - 1) / 2, -1.0f, 1.0f));
}

float step_between(const Camera& a, const Camera& b) { return length(center_of(a) - center_of(b)); }

float nearest_frame(const std::vector<PathFrame>& frames, const Camera& camera) {
  float nearest = INFINITY;
  for (const PathFrame& f : frames) nearest = std::min(nearest, step_between(f.camera, camera));
  return nearest;
}

struct Steps {
  float least = INFINITY, most = 0, sharpest_turn_rad = 0;
};
Steps steps_of(const std::vector<PathFrame>& frames, bool is_closed) {
  Steps steps;
  for (std::size_t i = is_closed ? 0 : 1; i < frames.size(); ++i) {
    const Camera &a = frames[i].camera, &b = frames[(i + frames.size() - 1) % frames.size()].camera;
    steps.least = std::min(steps.least, step_between(a, b));
    steps.most = std::max(steps.most, step_between(a, b));
    steps.sharpest_turn_rad = std::max(steps.sharpest_turn_rad, turn_between(a, b));
  }
  return steps;
}

float angle_to_focus(const Camera& camera) {  // rad
  const Vec3f sight = cross(axis_of(camera), normalized(kFocus - center_of(camera)));
  return std::asin(length(sight));
}

TEST(OrbitPath, SurroundsCentreIfCamerasDo) {
  const auto frames = orbit_path(ring(30), 100);
  ASSERT_EQ(frames.size(), 100u);
  EXPECT_EQ(frames[0].name, "0001.png");
  EXPECT_EQ(frames[99].name, "0100.png");
  for (const PathFrame& f : frames) {
    EXPECT_LT(angle_to_focus(f.camera), 5e-3f);  // focus_of() is biased slightly towards the cameras
    EXPECT_NEAR(length(center_of(f.camera) - kFocus), std::sqrt(17.0f), 1e-2f);
    EXPECT_NEAR(center_of(f.camera).z, kFocus.z + 1, 1e-2f);
    EXPECT_EQ(f.camera.width_px, 64);
    EXPECT_FLOAT_EQ(f.camera.focal_px.y, 61);
  }
  const Steps steps = steps_of(frames, true);
  EXPECT_NEAR(steps.most, kTurn * 4 / 100, 1e-2f);
  EXPECT_GT(steps.least, 0.95f * steps.most);
}

TEST(OrbitPath, StaysOnArcIfCamerasDo) {
  const auto frames = orbit_path(ring(60, kTurn / 3, 0.5f), 100);
  float least_rad = 9, most_rad = -9, lowest = 9, highest = -9;
  for (const PathFrame& f : frames) {
    EXPECT_LT(angle_to_focus(f.camera), 5e-3f);  // focus_of() is biased slightly towards the cameras
    const Vec3f d = center_of(f.camera) - kFocus;
    least_rad = std::min(least_rad, std::atan2(d.y, d.x)),
    most_rad = std::max(most_rad, std::atan2(d.y, d.x));
    lowest = std::min(lowest, d.z), highest = std::max(highest, d.z);
  }
  EXPECT_GT(least_rad, 0);
  EXPECT_LT(least_rad, 0.3f);
  EXPECT_LT(most_rad, kTurn / 3);
  EXPECT_GT(most_rad, kTurn / 3 - 0.4f);
  EXPECT_GT(lowest, 0.4f);
  EXPECT_LT(highest, 1.65f);
  EXPECT_LT(steps_of(frames, true).most, 0.3f) << "the loop is not closed";
}

TEST(OrbitPath, HandlesArcAcrossWrappedAngles) {
  Scene scene;
  for (int i = -10; i <= 10; ++i)
    scene.views.push_back(view_at(on_ring(kTurn / 2 + 0.05f * static_cast<float>(i))));
  for (const PathFrame& f : orbit_path(scene, 40)) EXPECT_LT(center_of(f.camera).x, kFocus.x - 3);
}

TEST(OrbitPath, FollowsOvalOfCameras) {
  Scene scene;
  for (int i = 0; i < 60; ++i) {
    const float a = kTurn * static_cast<float>(i) / 60;
    scene.views.push_back(view_at(kFocus + Vec3f(5 * std::cos(a), 3 * std::sin(a), 1)));
  }
  const auto frames = orbit_path(scene, 50);
  for (const SceneView& v : scene.views) EXPECT_LT(nearest_frame(frames, v.camera), 0.6f);
}

TEST(OrbitPath, LooksDownFromMedianElevation) {
  for (const PathFrame& f : orbit_path(ring(30), 10))
    EXPECT_NEAR(axis_of(f.camera).z, -1 / std::sqrt(17.0f), 1e-2f);
}

TEST(OrbitPath, RejectsCamerasThatLookOutwards) {
  Scene scene;
  for (int i = 0; i < 12; ++i) {
    const Vec3f place = on_ring(kTurn * static_cast<float>(i) / 12);
    scene.views.push_back(view_at(place, place * 2 - kFocus));
  }
  EXPECT_THROW(orbit_path(scene, 10), Error);
  EXPECT_EQ(interpolated_path(scene, 10).size(), 10u);
}

TEST(InterpolatedPath, PassesEveryCameraAtAnEvenPace) {
  const Scene scene = ring(20);
  const auto frames = interpolated_path(scene, 200);
  const Steps steps = steps_of(frames, true);
  EXPECT_LT(steps.most, 1.2f * steps.least) << "the path is not closed or its speed varies";
  EXPECT_LT(steps.sharpest_turn_rad, 1.2f * kTurn / 200);
  for (const SceneView& v : scene.views) EXPECT_LT(nearest_frame(frames, v.camera), steps.most);
  for (const PathFrame& f : frames) EXPECT_LT(angle_to_focus(f.camera), 0.02f);
}

TEST(InterpolatedPath, FollowsArcFromEndToEnd) {
  const Scene scene = ring(20, 2.0f, 0.3f);
  const auto frames = interpolated_path(scene, 150);
  EXPECT_LT(step_between(frames.front().camera, scene.views.front().camera), 1e-3f);
  EXPECT_LT(step_between(frames.back().camera, scene.views.back().camera), 1e-3f);
  const Steps steps = steps_of(frames, false);
  EXPECT_LT(steps.most, 1.5f * steps.least);
  for (const SceneView& v : scene.views) EXPECT_LT(nearest_frame(frames, v.camera), steps.most);
}

TEST(InterpolatedPath, UnevenSpacingCausesNoJumps) {
  Scene scene;
  for (const float angle : {0.0f, 0.01f, 0.02f, 0.8f, 0.81f, 0.81f, 1.9f, 2.0f})
    scene.views.push_back(view_at(on_ring(angle)));
  const Steps steps = steps_of(interpolated_path(scene, 100), false);
  EXPECT_LT(steps.most, 1.2f * steps.least);
}

TEST(InterpolatedPath, ReordersNamesThatJumpAround) {
  const Scene in_order = ring(20);
  Scene scene;
  for (std::size_t i = 0; i < 20; ++i) scene.views.push_back(in_order.views[i * 7 % 20]);
  EXPECT_LT(steps_of(interpolated_path(scene, 100), true).most, 1.2f * kTurn * 4 / 100);
}

TEST(InterpolatedPath, TurnsInPlaceAtAnEvenPace) {
  Scene scene;
  for (int i = 0; i < 6; ++i) {
    const float a = 0.4f * static_cast<float>(i);
    scene.views.push_back(view_at({0, 0, 0}, {std::cos(a), std::sin(a), 0}));
  }
  const auto frames = interpolated_path(scene, 51);
  EXPECT_NEAR(turn_between(frames.front().camera, frames.back().camera), 2.0f, 1e-2f);
  EXPECT_LT(steps_of(frames, false).sharpest_turn_rad, 1.2f * 2.0f / 50);
}

TEST(InterpolatedPath, ZoomsBetweenCameras) {
  Scene scene = ring(3, 0.5f);
  for (std::size_t i = 0; i < 3; ++i)
    scene.views[i].camera.focal_px = Vec2f(50, 50) * static_cast<float>(i + 1);
  const auto frames = interpolated_path(scene, 30);
  EXPECT_NEAR(frames.front().camera.focal_px.x, 50, 0.1f);
  EXPECT_NEAR(frames.back().camera.focal_px.x, 150, 0.1f);
  for (std::size_t i = 1; i < 30; ++i)
    EXPECT_GT(frames[i].camera.focal_px.x, frames[i - 1].camera.focal_px.x);
}

TEST(CameraPaths, WorkWithFewOrEqualCameras) {
  const SceneView view = view_at(on_ring(0));
  const Scene one = scene_of({view}), equal = scene_of({view, view, view, view}),
              two = scene_of({view, view_at(on_ring(0.5f))});
  for (const Scene& scene : {one, equal, two})
    for (const int count : {1, 2, 7})
      for (const auto& frames : {orbit_path(scene, count), interpolated_path(scene, count)}) {
        ASSERT_EQ(frames.size(), static_cast<std::size_t>(count));
        for (const PathFrame& f : frames) {
          EXPECT_LT(turn_between(f.camera, view.camera), 0.6f);  // fails for NaN, too
          EXPECT_LT(step_between(f.camera, view.camera), 2.5f);
        }
      }
  for (const auto& frames : {orbit_path(one, 5), interpolated_path(equal, 5)})
    EXPECT_LT(turn_between(frames[4].camera, view.camera), 1e-2f);
}

TEST(CameraPaths, RejectScenesWithoutCameras) {
  EXPECT_THROW(orbit_path({}, 5), Error);
  EXPECT_THROW(interpolated_path({}, 5), Error);
  EXPECT_TRUE(photo_path({}).empty());
}

TEST(CameraPaths, FollowTheTrainingCameras) {
  Scene scene = ring(10, 1.0f);
  for (int i = 0; i < 10; ++i) {
    scene.views.push_back(view_at(on_ring(3.0f + 0.1f * static_cast<float>(i))));
    scene.views.back().is_test = true;
  }
  for (const PathFrame& f : orbit_path(scene, 20)) EXPECT_GT(center_of(f.camera).x, kFocus.x);
  for (const PathFrame& f : interpolated_path(scene, 20)) EXPECT_GT(center_of(f.camera).x, kFocus.x);
}

TEST(CameraPaths, HaveEvenSidesForVideo) {
  Scene scene = ring(10);
  for (SceneView& v : scene.views) v.camera.width_px = 65, v.camera.height_px = 1;
  for (const auto& frames : {orbit_path(scene, 2), interpolated_path(scene, 2)}) {
    EXPECT_EQ(frames[0].camera.width_px, 64);
    EXPECT_EQ(frames[0].camera.height_px, 2);
  }
  EXPECT_EQ(photo_path(scene)[0].camera.width_px, 65);
}

TEST(PhotoPath, NamesFramesAfterPhotos) {
  Scene scene = ring(6);
  const char* names[6] = {"left/0001.jpg", "a.jpg", "a.png", "../../b.JPG", "/data/c.png", "./d"};
  for (std::size_t i = 0; i < 6; ++i) scene.views[i].name = names[i];
  scene.views[1].is_test = true;
  std::string text;
  for (const PathFrame& f : photo_path(scene)) text += f.name + " ";
  EXPECT_EQ(text, "left/0001.png a.png a.png.png b.png data/c.png d.png ");
  EXPECT_EQ(photo_path(scene)[1].camera.camera_from_world.translation,
            scene.views[1].camera.camera_from_world.translation);
}

TEST(Resized, KeepsPixelAspectRatioAndCrops) {
  Camera camera = view_at(on_ring(0)).camera;
  camera.center_px = {33, 24};
  const Camera same_shape = resized(camera, 128, 96);
  EXPECT_EQ(same_shape.focal_px, Vec2f(120, 122));
  EXPECT_EQ(same_shape.center_px, Vec2f(66, 48));
  const Camera wide = resized(camera, 128, 64);
  EXPECT_EQ(wide.focal_px, Vec2f(120, 122));
  EXPECT_EQ(wide.center_px, Vec2f(66, 32));
  EXPECT_EQ(wide.height_px, 64);
}

}  // namespace
}  // namespace stipple
