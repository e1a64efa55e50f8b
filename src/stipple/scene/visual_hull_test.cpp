// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/visual_hull.h"

#include <gtest/gtest.h>

#include "stipple/core/parallel.h"
#include "tests/helpers/object_scene.h"

namespace stipple {
namespace {

class VisualHull : public testing::Test {
 protected:
  VisualHull() {
    for (const Camera& camera : object_cameras(24, 64)) {
      SceneView view;
      view.name = fmt::format("{:02}.png", views_.size());
      view.image_path = folder_ / view.name;
      view.camera = camera;
      view.lens = pinhole_lens(camera);
      save_png(ball_photo(camera), view.image_path);
      views_.push_back(view);
    }
  }

  TestFolder folder_;
  std::vector<SceneView> views_;
};

TEST_F(VisualHull, PointsLieOnTheSurfaceInItsColours) {
  const Points points = carve_points(views_, 2000, 1);
  EXPECT_GT(points.size(), 1900u);
  int far_away = 0, wrong_color = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Vec3f p = points.position[i];
    const float radius = std::sqrt(dot(p, p));
    EXPECT_GT(radius, 0.93f);   // pixels are 0.05 wide
    far_away += radius > 1.3f;  // a hull is wider than its object where no camera looks along its surface
    for (int c = 0; c < 3; ++c)
      wrong_color +=
          std::abs(points.color[i][static_cast<std::size_t>(c)] - color_of_normal(p[c] / radius)) > 30;
  }
  EXPECT_LT(far_away, static_cast<int>(points.size()) / 100);
  EXPECT_LT(wrong_color, static_cast<int>(points.size()) / 20);
}

TEST_F(VisualHull, AWrongPhotoDoesNotCarveTheObjectAway) {
  std::vector<SceneView> views = views_;  // twice, since one view in 32 may be wrong
  views.insert(views.end(), views_.begin(), views_.end());
  views[5].image_path = folder_ / "empty.png";
  ByteImage empty(64, 64, 4);
  empty.values[3] = 255;  // a single solid pixel
  save_png(empty, views[5].image_path);
  EXPECT_GT(carve_points(views, 500, 1).size(), 450u);
  views[6].image_path = folder_.write("broken.png", "not a picture");
  EXPECT_GT(carve_points(views, 500, 1).size(), 450u);
}

TEST_F(VisualHull, DependsOnTheSeedAndNotOnTheThreads) {
  Points one, two;
  with_threads(1, [&] { one = carve_points(views_, 300, 1); });
  with_threads(2, [&] { two = carve_points(views_, 300, 1); });
  EXPECT_EQ(one.position, two.position);
  EXPECT_EQ(one.color, two.color);
  EXPECT_NE(carve_points(views_, 300, 2).position, one.position);
}

TEST_F(VisualHull, PhotosAreShrunkButTheHullKeepsItsPlace) {
  std::vector<SceneView> views;
  for (SceneView view : views_) {  // the camera is larger than the largest silhouette
    view.camera.width_px = view.camera.height_px = 1024;
    view.camera.focal_px = view.camera.focal_px * 16.0f;
    view.camera.center_px = view.camera.center_px * 16.0f;
    views.push_back(view);
  }
  const Points points = carve_points(views, 200, 1);
  EXPECT_GT(points.size(), 190u);
  for (const Vec3f& p : points.position) EXPECT_NEAR(std::sqrt(dot(p, p)), 1.1f, 0.2f);
}

TEST_F(VisualHull, SilhouettesWithoutACommonHullGiveNoPoints) {
  for (std::size_t i = 0; i < views_.size(); ++i)
    views_[i].camera.camera_from_world.translation.x += i % 2 ? 1.5f : -1.5f;  // as if the poses were wrong
  EXPECT_EQ(carve_points(views_, 500, 1).size(), 0u);
}

TEST_F(VisualHull, OpaquePhotosGiveNoPoints) {
  for (SceneView& view : views_) {
    view.image_path = folder_ / "opaque.png";
    save_png(ByteImage(64, 64, 3), view.image_path);
  }
  EXPECT_EQ(carve_points(views_, 500, 1).size(), 0u);
  EXPECT_EQ(carve_points({}, 500, 1).size(), 0u);
  EXPECT_EQ(carve_points({views_.data(), 1}, 500, 1).size(), 0u);
}

}  // namespace
}  // namespace stipple
