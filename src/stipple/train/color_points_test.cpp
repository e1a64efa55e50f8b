// SPDX-License-Identifier: Apache-2.0
#include "stipple/train/color_points.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "stipple/camera/pose.h"
#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/scene/point_colors.h"
#include "stipple/synth/synth.h"

namespace stipple {
namespace {

using Color = std::array<std::uint8_t, 3>;

constexpr Color kBlack{0, 0, 0}, kGrey{128, 128, 128};

SceneView view_from(Vec3f position, Vec3f target = {0, 0, 0}) {
  SceneView view;
  view.camera = {look_at(position, target, {0, 0, 1}), {50, 50}, {20, 20}, 40, 40};
  return view;
}

Photo plain_photo(Color color) {
  Photo photo{.width_px = 40, .height_px = 40, .rgb = {}, .weight = {}};
  for (std::size_t i = 0; i < photo.pixel_count(); ++i)
    photo.rgb.insert(photo.rgb.end(), color.begin(), color.end());
  return photo;
}

// Black points, and views whose photos are made in memory; view i has the name i.
struct TestScene {
  Scene scene;
  std::vector<Photo> photos;
  std::atomic<int> loads = 0;

  void add(SceneView view, Photo photo) {
    view.name = std::to_string(photos.size());
    scene.views.push_back(std::move(view));
    photos.push_back(std::move(photo));
  }
  void add_black_point(Vec3f position) {
    scene.points.position.push_back(position);
    scene.points.color.push_back(kBlack);
  }
  std::vector<Color> colors(std::size_t max_photo_bytes = 1 << 20) {
    PhotoCache cache(scene.views, max_photo_bytes, [this](const SceneView& view) {
      ++loads;
      return photos[std::stoul(view.name)];
    });
    std::vector<std::size_t> all(scene.views.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return colored_points(scene, all, cache).color;
  }
};

TEST(PointColors, AreMissingIfNearlyAllAreTheSame) {
  Points points;
  EXPECT_FALSE(lack_colors(points));
  points.position.resize(1000);
  for (const Color common : {kBlack, kGrey, Color{255, 255, 255}}) {
    points.color.assign(1000, common);
    EXPECT_TRUE(lack_colors(points));
    std::fill_n(points.color.begin(), 5, Color{200, 100, 50});
    EXPECT_TRUE(lack_colors(points));
    std::fill_n(points.color.begin(), 20, Color{200, 100, 50});
    EXPECT_FALSE(lack_colors(points));
  }
}

TEST(ColorPoints, PointsWithColorsAreUntouchedAndNoPhotoIsRead) {
  TestScene test;
  test.add(view_from({4, 0, 0}), plain_photo({10, 20, 30}));
  test.add_black_point({0, 0, 0});
  test.add_black_point({0, 0.1f, 0});
  test.scene.points.color[1] = {7, 8, 9};
  EXPECT_EQ(test.colors(), test.scene.points.color);
  EXPECT_EQ(test.loads, 0);
}

TEST(ColorPoints, RandomPointsTakeTheColorsOfThePhotos) {
  TestScene test;
  test.add(view_from({4, 0, 0}), plain_photo({10, 20, 30}));
  test.add_black_point({0, 0, 0});
  test.add_black_point({0, 0.1f, 0});
  test.scene.points.color[1] = {7, 7, 7};
  test.scene.has_random_points = true;
  EXPECT_EQ(test.colors(), (std::vector<Color>{{10, 20, 30}, {10, 20, 30}}));
}

TEST(ColorPoints, TakeTheMedianOfThePhotosThatSeeThem) {
  TestScene test;
  test.add(view_from({4, 0, 0}), plain_photo({10, 100, 30}));
  test.add(view_from({0, 4, 0}), plain_photo({20, 90, 200}));
  test.add(view_from({-4, 0, 0}), plain_photo({250, 80, 40}));
  test.add(view_from({0, -4, 0}, {0, -8, 0}), plain_photo({255, 255, 255}));  // looks away
  test.add(view_from({0, -4, 0}, {0, 0, 5}), plain_photo({255, 255, 255}));   // looks past the point
  test.add_black_point({0, 0, 0});
  EXPECT_EQ(test.colors(), (std::vector<Color>{{20, 90, 40}}));
}

TEST(ColorPoints, TakeTheColorOfTheRightPixel) {
  TestScene test;
  Photo photo = plain_photo({1, 1, 1});
  const SceneView view = view_from({4, 0, 0});
  const Vec3f point(0, 0.5f, 0.7f);
  const Vec3f at = *project_point(view.camera, point);
  std::fill_n(&photo.rgb[3 * (static_cast<std::size_t>(at.y) * 40 + static_cast<std::size_t>(at.x))], 3, 99);
  test.add(view, photo);
  test.add_black_point(point);
  EXPECT_EQ(test.colors(), (std::vector<Color>{{99, 99, 99}}));
}

TEST(ColorPoints, AreGreyIfNoPhotoShowsThem) {
  TestScene test;
  test.add(view_from({4, 0, 0}), plain_photo({10, 20, 30}));
  Photo masked = plain_photo({1, 2, 3});
  masked.weight.assign(masked.pixel_count(), 0);
  test.add(view_from({0, 4, 0}, {0, 8, 0}), masked);
  test.add_black_point({9, 0, 0});  // behind one, outside the other
  test.add_black_point({0, 8, 0});  // masked out
  EXPECT_EQ(test.colors(), (std::vector<Color>{kGrey, kGrey}));
}

// Three views see the hidden point behind a wall of points, and only the two from the other side see it.
TEST(ColorPoints, ViewsInWhichTheyAreHiddenDoNotCount) {
  TestScene test;
  for (float x : {-0.2f, 0.0f, 0.2f}) test.add(view_from({x, 6, 0}), plain_photo({200, 0, 0}));
  for (float x : {-0.2f, 0.2f}) test.add(view_from({x, -6, 0}), plain_photo({0, 0, 200}));
  test.add_black_point({0, -1, 0});
  for (int i = 0; i < 20; ++i)
    for (int k = 0; k < 20; ++k)
      test.add_black_point({0.1f * static_cast<float>(i) - 1, 1, 0.1f * static_cast<float>(k) - 1});
  EXPECT_EQ(test.colors().front(), (Color{0, 0, 200}));
  EXPECT_EQ(test.colors()[200], (Color{200, 0, 0}));
}

TEST(ColorPoints, EachPhotoIsReadOnceEvenIfTheCacheHoldsOnlyOne) {
  TestScene test;
  for (int i = 0; i < 8; ++i) {
    const float angle = 0.7f * static_cast<float>(i);
    test.add(view_from({4 * std::cos(angle), 4 * std::sin(angle), 0}), plain_photo({9, 9, 9}));
  }
  for (int i = 0; i < 100; ++i) test.add_black_point({0, 0, 0.01f * static_cast<float>(i)});
  EXPECT_EQ(test.colors(photo_bytes(test.scene.views[0])), std::vector<Color>(100, {9, 9, 9}));
  EXPECT_EQ(test.loads, 8);
}

double mean_difference(const std::vector<Color>& a, const std::vector<Color>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t c = 0; c < 3; ++c) sum += std::abs(a[i][c] - b[i][c]);
  return sum / (3 * static_cast<double>(a.size()));
}

TEST(ColorPoints, AreCloseToTheTruthInTheBuiltInScene) {
  const SynthOptions options{.view_count = 24, .width_px = 120, .height_px = 90};
  const Points truth = synth_points(options);
  TestScene test;
  for (const SynthView& view : synth_cameras(options)) {
    SceneView scene_view;
    scene_view.camera = view.camera;
    test.add(scene_view, synth_render(view, options).photo);
  }
  for (const Vec3f p : truth.position) test.add_black_point(p);
  std::vector<Color> one, two;
  with_threads(1, [&] { one = test.colors(); });
  with_threads(2, [&] { two = test.colors(); });
  EXPECT_EQ(one, two);
  EXPECT_LT(mean_difference(one, truth.color), 10);
  EXPECT_GT(mean_difference(std::vector<Color>(one.size(), kGrey), truth.color), 30);
}

}  // namespace
}  // namespace stipple
