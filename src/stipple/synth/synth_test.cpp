// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/synth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/image/image.h"
#include "stipple/synth/ray_camera.h"
#include "stipple/synth/still_life.h"

namespace stipple {
namespace {

using synth::length;
using synth::normalized;

SynthOptions small_options(int view_count = 12) {
  return {.view_count = view_count, .width_px = 160, .height_px = 120};
}

// Further away, the ground's depth changes too much from pixel to pixel to be compared.
bool is_near(Vec3f world) { return length(world) < 3; }

Vec3f position_of(const Camera& camera) { return synth::RayCamera(camera).position(); }

Vec3f in_camera(const Camera& camera, Vec3f world) {
  return camera.camera_from_world.rotation * world + camera.camera_from_world.translation;
}

// The pixel in which the camera sees a point; nothing if it is outside the image.
std::optional<std::size_t> pixel_of(const Camera& camera, Vec3f world) {
  const Vec3f p = in_camera(camera, world);
  if (p.z <= 0) return {};
  const Vec2f at = camera.focal_px * Vec2f(p.x, p.y) * (1 / p.z) + camera.center_px;
  if (at.x < 0 || at.y < 0) return {};
  const auto x = static_cast<int>(at.x), y = static_cast<int>(at.y);
  if (x >= camera.width_px || y >= camera.height_px) return {};
  return static_cast<std::size_t>(y * camera.width_px + x);
}

Vec3f world_point(const Camera& camera, std::size_t pixel, float depth) {
  const auto width = static_cast<std::size_t>(camera.width_px);
  const synth::RayCamera eye(camera);
  const synth::Ray ray =
      eye.ray({static_cast<float>(pixel % width) + 0.5f, static_cast<float>(pixel / width) + 0.5f});
  return ray.at(depth / eye.depth(ray, 1));
}

float color_difference(const Photo& a, std::size_t i, const Photo& b, std::size_t j) {
  float sum = 0;
  for (std::size_t c = 0; c < 3; ++c)
    sum += std::abs(static_cast<float>(a.rgb[3 * i + c]) - static_cast<float>(b.rgb[3 * j + c]));
  return sum / 3;
}

Image image_of(const Photo& photo) {
  Image image(photo.width_px, photo.height_px, 3);
  std::ranges::transform(photo.rgb, image.values.begin(),
                         [](std::uint8_t v) { return static_cast<float>(v) / 255; });
  return image;
}

void collect(const synth::Group& group, std::vector<synth::Object>& objects) {
  objects.insert(objects.end(), group.objects.begin(), group.objects.end());
  for (const synth::Group& part : group.parts) collect(part, objects);
}

std::vector<synth::Object> all_objects() {
  std::vector<synth::Object> objects;
  collect(synth::make_still_life(1).things, objects);
  return objects;
}

TEST(SynthScene, ObjectsStandOnTheGroundWithinTheRadius) {
  for (const synth::Object& object : all_objects()) {
    const synth::Ball& bound = object.bound;
    EXPECT_LT(std::hypot(bound.center.x, bound.center.y) + bound.radius, synth::kSceneRadius);
    EXPECT_GE(bound.center.z, 0);
  }
}

TEST(SynthCameras, LookAtTheMiddleFromOutside) {
  for (const SynthView& view : synth_cameras(small_options(60))) {
    const Vec3f position = position_of(view.camera), middle = in_camera(view.camera, synth::kMiddle);
    EXPECT_GT(std::hypot(position.x, position.y), synth::kSceneRadius + 0.5f);
    EXPECT_GT(position.z, 0.3f);
    EXPECT_LT(length(position), synth::kDomeRadius / 2);
    EXPECT_LT(std::hypot(middle.x, middle.y), 0.05f * middle.z);
    EXPECT_LT(view.camera.camera_from_world.rotation[2].y, 0);  // upright: up is towards smaller y
    EXPECT_NEAR(view.camera.camera_from_world.rotation[2].x, 0, 1e-6f);
  }
}

TEST(SynthCameras, ConsecutiveNamesAreNeighbours) {
  const std::vector<SynthView> views = synth_cameras(small_options(60));
  ASSERT_EQ(views.size(), 60u);
  EXPECT_EQ(views.front().name, "0001.png");
  EXPECT_EQ(views.back().name, "0060.png");
  for (std::size_t i = 1; i < views.size(); ++i)
    EXPECT_LT(length(position_of(views[i].camera) - position_of(views[i - 1].camera)), 2);
}

TEST(SynthCameras, HaveTheRequestedCount) {
  for (int count : {1, 2, 3, 7})
    EXPECT_EQ(synth_cameras(small_options(count)).size(), static_cast<std::size_t>(count));
  EXPECT_THROW(synth_cameras(small_options(0)), Error);
  EXPECT_THROW(synth_cameras({.width_px = 0}), Error);
}

// The widest angle, as seen from above, in which there is no camera.
TEST(SynthCameras, FewAreSpreadAllAround) {
  for (int count : {3, 6, 12})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      SynthOptions options = small_options(count);
      options.seed = seed;
      std::vector<float> turns;
      for (const SynthView& view : synth_cameras(options)) {
        const Vec3f p = position_of(view.camera);
        turns.push_back(std::atan2(p.y, p.x) / 6.2831853f);
      }
      std::ranges::sort(turns);
      float widest = turns.front() + 1 - turns.back();
      for (std::size_t i = 1; i < turns.size(); ++i) widest = std::max(widest, turns[i] - turns[i - 1]);
      EXPECT_LT(widest, 1.0f / static_cast<float>(count) + 0.11f) << count << " views, seed " << seed;
    }
}

TEST(SynthRender, DoesNotDependOnThreadCount) {
  const Camera camera = synth_cameras(small_options())[0].camera;
  SynthPicture one, two;
  with_threads(1, [&] { one = synth_render(camera, 1); });
  with_threads(2, [&] { two = synth_render(camera, 1); });
  EXPECT_EQ(one.photo.rgb, two.photo.rgb);
  EXPECT_EQ(one.depth, two.depth);
}

TEST(SynthRender, SeedChangesCamerasAndTextures) {
  SynthOptions other = small_options();
  other.seed = 2;
  const Camera camera = synth_cameras(small_options())[0].camera;
  EXPECT_FALSE(position_of(camera) == position_of(synth_cameras(other)[0].camera));
  const SynthPicture a = synth_render(camera, 1), b = synth_render(camera, 2);
  EXPECT_NE(a.photo.rgb, b.photo.rgb);
  EXPECT_EQ(a.depth, b.depth);
}

TEST(SynthRender, IsWellExposed) {
  const SynthPicture picture = synth_render(synth_cameras(small_options())[5].camera, 1);
  double sum = 0, square = 0;
  const auto count = static_cast<double>(picture.photo.rgb.size());
  for (const std::uint8_t v : picture.photo.rgb) {
    sum += v / count;
    square += v * v / count;
  }
  EXPECT_GT(sum, 100);
  EXPECT_LT(sum, 180);
  EXPECT_GT(std::sqrt(square - sum * sum), 35);
  EXPECT_LT(std::ranges::count(picture.photo.rgb, 255), 0.01 * count);
  EXPECT_LT(std::ranges::count(picture.photo.rgb, 0), 0.01 * count);
}

// Looks up every pixel of one view in the next, where its point must have the right depth or be hidden.
TEST(SynthRender, DepthsAndColorsAgreeBetweenViews) {
  const std::vector<SynthView> views = synth_cameras(small_options(60));
  const Camera &from = views[24].camera, &to = views[25].camera;
  const SynthPicture a = synth_render(from, 1), b = synth_render(to, 1);
  int seen = 0, hidden = 0, wrong = 0;
  std::vector<float> differences;
  for (std::size_t i = 0; i < a.depth.size(); ++i) {
    const Vec3f point = world_point(from, i, a.depth[i]);
    const std::optional<std::size_t> j = pixel_of(to, point);
    if (a.depth[i] == 0 || !is_near(point) || !j) continue;
    const float ratio = b.depth[*j] / in_camera(to, point).z;
    if (std::abs(ratio - 1) < 0.03f) differences.push_back(color_difference(a.photo, i, b.photo, *j));
    ++(std::abs(ratio - 1) < 0.03f ? seen : ratio < 1 && ratio > 0 ? hidden : wrong);
  }
  EXPECT_GT(seen, 4 * hidden);
  EXPECT_LT(wrong, 0.04 * seen);  // at edges
  ASSERT_GT(differences.size(), 5000u);
  std::ranges::nth_element(differences,
                           differences.begin() + static_cast<std::ptrdiff_t>(differences.size() / 2));
  EXPECT_LT(differences[differences.size() / 2], 8);
}

TEST(SynthRender, SkyHasNoDepth) {
  const SynthPicture picture = synth_render(synth_cameras(small_options(60))[0].camera, 1);
  EXPECT_EQ(picture.depth.front(), 0);
  EXPECT_GT(picture.depth.back(), 0);
}

TEST(SynthRender, SmallImageMatchesTheLargeOneShrunk) {
  SynthOptions large = small_options();
  large.width_px *= 2;
  large.height_px *= 2;
  for (std::size_t i : {0, 6, 11}) {
    const Photo small = synth_render(synth_cameras(small_options())[i].camera, 1).photo;
    const Photo full = synth_render(synth_cameras(large)[i].camera, 1).photo;
    EXPECT_GT(psnr(image_of(small), shrink_to(image_of(full), small.width_px)), 36);
  }
}

// The sun's reflection is where the normal bisects the angle between the sun and the camera.
TEST(SynthRender, HighlightMovesWithTheView) {
  const std::vector<synth::Object> objects = all_objects();
  const auto glossy = std::ranges::find_if(objects, [](const auto& o) { return o.material.gloss > 0; });
  ASSERT_NE(glossy, objects.end());
  const auto ball = std::get<synth::Ball>(glossy->shape);
  const Vec3f to_sun = normalized(synth::make_still_life(1).sun.center - ball.center);
  std::vector<Vec3f> found;
  for (const SynthView& view : synth_cameras(small_options(24))) {
    const Vec3f to_camera = normalized(position_of(view.camera) - ball.center);
    const Vec3f expected = ball.center + normalized(to_sun + to_camera) * ball.radius;
    const SynthPicture picture = synth_render(view.camera, 1);
    const std::optional<std::size_t> pixel = pixel_of(view.camera, expected);
    if (!pixel || std::abs(picture.depth[*pixel] - in_camera(view.camera, expected).z) > 0.02f) continue;
    const std::uint8_t* rgb = &picture.photo.rgb[3 * *pixel];
    if (rgb[0] > 180 && rgb[1] > 180 && rgb[2] > 180) found.push_back(expected);  // white on a dark blue ball
  }
  ASSERT_GT(found.size(), 4u);
  float furthest = 0;
  for (const Vec3f a : found) furthest = std::max(furthest, length(a - found.front()));
  EXPECT_GT(furthest, ball.radius / 2);
}

TEST(SynthPoints, LieWhereTheCamerasSeeThem) {
  const SynthOptions options = small_options();
  const Points points = synth_points(options);
  ASSERT_GE(points.size(), 10'000u);
  ASSERT_EQ(points.color.size(), points.size());
  const std::vector<SynthView> views = synth_cameras(options);
  std::vector<SynthPicture> pictures;
  for (const SynthView& view : views) pictures.push_back(synth_render(view.camera, options.seed));
  int tried = 0, agreed = 0;
  for (std::size_t i = 0; i < points.size(); i += 10) {
    const Vec3f point = points.position[i];
    if (!is_near(point)) continue;
    int matching = 0;
    for (std::size_t v = 0; v < views.size(); ++v)
      if (const auto pixel = pixel_of(views[v].camera, point))
        matching += std::abs(pictures[v].depth[*pixel] / in_camera(views[v].camera, point).z - 1) < 0.03f;
    ++tried;
    agreed += matching >= 3;
  }
  EXPECT_GT(tried, 1000);
  EXPECT_GT(agreed, 0.9 * tried);
}

TEST(SynthPoints, SomeLieOnTheSky) {
  const Points points = synth_points(small_options());
  const auto on_sky = std::ranges::count_if(
      points.position, [](Vec3f p) { return std::abs(length(p) - synth::kDomeRadius) < 0.3f && p.z > 0.2f; });
  EXPECT_GT(on_sky, 300);
  EXPECT_LT(on_sky, 5000);
}

TEST(SynthPoints, AreTheSameForTheSameSeed) {
  SynthOptions other = small_options();
  other.seed = 2;
  const Points a = synth_points(small_options()), b = synth_points(small_options()), c = synth_points(other);
  EXPECT_EQ(a.position, b.position);
  EXPECT_EQ(a.color, b.color);
  EXPECT_NE(a.position, c.position);
}

// Compares each point with the pixel that shows it. The median ignores the effects of edges and gloss.
TEST(SynthPoints, HaveThePhotosColors) {
  const SynthOptions options = small_options();
  const Points points = synth_points(options);
  const Camera camera = synth_cameras(options)[6].camera;
  const SynthPicture picture = synth_render(camera, options.seed);
  std::vector<float> differences;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto pixel = pixel_of(camera, points.position[i]);
    if (!pixel || std::abs(picture.depth[*pixel] / in_camera(camera, points.position[i]).z - 1) > 0.02f)
      continue;
    const Photo point_color{1, 1, {points.color[i].begin(), points.color[i].end()}, {}};
    differences.push_back(color_difference(picture.photo, *pixel, point_color, 0));
  }
  ASSERT_GT(differences.size(), 1000u);
  std::ranges::sort(differences);
  EXPECT_LT(differences[differences.size() / 2], 10);
}

}  // namespace
}  // namespace stipple
