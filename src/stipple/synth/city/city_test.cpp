// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/city/city.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/core/error.h"
#include "stipple/core/parallel.h"
#include "stipple/synth/city/trace.h"
#include "stipple/synth/ray_camera.h"

namespace stipple {
namespace {

using namespace synth;
using city::Place;
using city::Plan;

CityOptions small_city(int view_count = 20, int block_count = 2) {
  return {.photos = {.view_count = view_count, .width_px = 64, .height_px = 48}, .block_count = block_count};
}

Random random_rays() { return Random(7); }

// From anywhere in or above the city, in any direction.
Ray random_ray(const Plan& plan, Random& random) {
  const float half = plan.half_size();
  const Vec3f origin(random.uniform(-half, half), random.uniform(-half, half), random.uniform(0.5f, 90));
  const float x = random.normal(), y = random.normal(), z = random.normal();
  return {origin, synth::normalized(Vec3f(x, y, 0.5f * z))};
}

bool is_inside(const city::Part& part, Vec3f point) {
  const auto* box = std::get_if<Box>(&part.shape);
  if (!box) return false;
  const Vec3f p = transpose(box->rotation) * (point - box->center), h = box->half_size;
  return std::abs(p.x) < h.x && std::abs(p.y) < h.y && std::abs(p.z) < h.z;
}

TEST(CityBlock, IsAFunctionOfSeedAndPlace) {
  const auto tops = [](std::uint64_t seed) {
    std::vector<float> result;
    for (int i = 0; i < 20; ++i) result.push_back(city::make_block(seed, {i, 3 * i}).top);
    return result;
  };
  EXPECT_EQ(tops(1), tops(1));
  EXPECT_NE(tops(1), tops(2));
  const std::vector<float> some = tops(1);
  EXPECT_GT(*std::ranges::max_element(some), 20);  // towers
  EXPECT_LT(*std::ranges::min_element(some), 12);  // houses or trees
}

// The tracer relies on it: what a ray meets in a block hides everything in the blocks behind.
TEST(CityBlock, HoldsAllItsParts) {
  constexpr float kHalf = city::kBlockSize / 2;
  for (int i = 0; i < 100; ++i) {
    const city::Block block = city::make_block(1, {i, 5});
    for (const city::Lot& lot : block.lots) {
      EXPECT_GT(std::min(lot.bounds.low.x, lot.bounds.low.y), -kHalf);
      EXPECT_LT(std::max(lot.bounds.high.x, lot.bounds.high.y), kHalf);
      EXPECT_GE(lot.bounds.low.z, -1e-5f);
      EXPECT_LE(lot.bounds.high.z, city::kTallest);
      EXPECT_LE(lot.bounds.high.z, block.top);
      ASSERT_FALSE(lot.parts.empty());
    }
  }
}

TEST(CityTracer, FindsWhatSearchingAllBlocksFinds) {
  const Plan plan{3, 4};
  city::BlockCache cache(plan.seed, 64);
  city::Tracer tracer(plan, cache);
  Random random = random_rays();
  int parts = 0, grounds = 0;
  for (int i = 0; i < 2000; ++i) {
    const Ray ray = random_ray(plan, random);
    float nearest = kNever;
    for (int x = 0; x < plan.block_count; ++x)
      for (int y = 0; y < plan.block_count; ++y)
        for (const city::Lot& lot : cache.at({x, y})->lots)
          for (const city::Part& part : lot.parts)
            nearest = std::min(nearest,
                               distance_to(part.shape, {ray.origin - plan.middle_of({x, y}), ray.direction}));
    const city::Hit hit = tracer.first_hit(ray);
    EXPECT_EQ(tracer.is_blocked(ray, kNever), nearest < kNever);
    EXPECT_EQ(hit.part != nullptr, nearest < kNever);
    if (nearest < kNever) {
      ++parts;
      EXPECT_NEAR(hit.distance, nearest, 1e-3f * nearest);
      EXPECT_FALSE(tracer.is_blocked(ray, 0.99f * nearest));
    } else if (!hit.is_sky()) {
      ++grounds;
      EXPECT_NEAR(ray.at(hit.distance).z, 0, 1e-3f);
    }
  }
  EXPECT_GT(parts, 300);
  EXPECT_GT(grounds, 200);
}

// Any order of visits and any size of the cache give the same distances.
TEST(CityTracer, DoesNotDependOnTheCache) {
  const Plan plan{3, 12};
  std::vector<Ray> rays;
  Random random = random_rays();
  for (int i = 0; i < 500; ++i) rays.push_back(random_ray(plan, random));
  const auto distances = [&](std::size_t capacity, bool reverse) {
    city::BlockCache cache(plan.seed, capacity);
    city::Tracer tracer(plan, cache);
    std::vector<float> result(rays.size());
    for (std::size_t i = 0; i < rays.size(); ++i) {
      const std::size_t k = reverse ? rays.size() - 1 - i : i;
      result[k] = tracer.first_hit(rays[k]).distance;
    }
    if (capacity < 10) {
      EXPECT_GT(cache.made_count(), 144u);  // some were made again
    }
    return result;
  };
  const std::vector<float> all = distances(1 << 14, false);
  EXPECT_EQ(all, distances(1, false));
  EXPECT_EQ(all, distances(1, true));
  EXPECT_EQ(all, distances(7, true));
}

TEST(City, DoesNotDependOnThreadsOrCache) {
  SynthPicture one, two;
  Points some, others;
  with_threads(1, [&] {
    const City city(small_city(), 1);
    one = city.render(city.cameras()[3]);
    some = city.points(100, 400);
  });
  with_threads(2, [&] {
    const City city(small_city());
    others = city.points(0, 1000);
    two = city.render(city.cameras()[3]);
  });
  EXPECT_EQ(one.photo.rgb, two.photo.rgb);
  EXPECT_EQ(one.depth, two.depth);
  others.position = {others.position.begin() + 100, others.position.begin() + 400};
  others.color = {others.color.begin() + 100, others.color.begin() + 400};
  EXPECT_EQ(some.position, others.position);
  EXPECT_EQ(some.color, others.color);
}

TEST(City, ChoosesItsSizeByTheNumberOfViews) {
  EXPECT_EQ(City(small_city(60, 0)).block_count(), 4);
  EXPECT_EQ(City(small_city(2500, 0)).block_count(), 25);
  EXPECT_EQ(City(small_city(60, 3)).block_count(), 3);
  EXPECT_EQ(City(small_city(60, 3)).point_count(), City(small_city(7, 3)).point_count());
  EXPECT_EQ(4 * City(small_city(60, 3)).point_count(), City(small_city(60, 6)).point_count());
  EXPECT_THROW(City(small_city(60, 257)), OptionError);
  EXPECT_THROW(City(small_city(0)), Error);
}

TEST(CityCameras, StandOutsideOfAllThings) {
  for (const int count : {1, 4, 60, 500}) {
    const CityOptions options = small_city(count, 0);
    const City city(options);
    const Plan plan{options.photos.seed, city.block_count()};
    const std::vector<SynthView> views = city.cameras();
    ASSERT_EQ(views.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(views.front().name, "0001.png");
    for (const SynthView& view : views) {
      const Vec3f at = center_of(view.camera);
      const auto cell = [&](float v) { return static_cast<int>((v + plan.half_size()) / city::kBlockSize); };
      const Place place{cell(at.x), cell(at.y)};
      ASSERT_TRUE(0 <= place.x && place.x < plan.block_count && 0 <= place.y && place.y < plan.block_count);
      EXPECT_GT(at.z, 1.5f);
      for (const city::Lot& lot : city::make_block(plan.seed, place).lots)
        for (const city::Part& part : lot.parts)
          EXPECT_FALSE(is_inside(part, at - plan.middle_of(place))) << view.name;
    }
  }
}

// Whether other views see a place: some pixel of them shows it, at its depth.
int views_that_see(Vec3f place, const std::vector<SynthView>& views,
                   const std::vector<SynthPicture>& pictures) {
  int count = 0;
  for (std::size_t i = 0; i < views.size(); ++i)
    if (const auto at = project_point(views[i].camera, place)) {
      const auto pixel =
          static_cast<std::size_t>(at->y) * static_cast<std::size_t>(views[i].camera.width_px) +
          static_cast<std::size_t>(at->x);
      count += std::abs(pictures[i].depth[pixel] / at->z - 1) < 0.03f;
    }
  return count;
}

std::vector<SynthPicture> depths_of(const City& city, const std::vector<SynthView>& views) {
  std::vector<SynthPicture> pictures;
  for (const SynthView& view : views) pictures.push_back(city.render(view));
  return pictures;
}

TEST(City, EachViewSharesMostOfWhatItSees) {
  const City city(small_city(40, 3));
  const std::vector<SynthView> views = city.cameras();
  const std::vector<SynthPicture> pictures = depths_of(city, views);
  int tried = 0, shared = 0;
  for (std::size_t v = 0; v < views.size(); ++v) {
    int seen = 0;
    for (int y = 2; y < 48; y += 5)
      for (int x = 2; x < 64; x += 5) {
        const float depth = pictures[v].depth[static_cast<std::size_t>(y * 64 + x)];
        if (depth == 0) continue;
        ++seen;
        const Vec3f place =
            point_at(views[v].camera, {static_cast<float>(x) + 0.5f, static_cast<float>(y) + 0.5f}, depth);
        ++tried;
        shared += views_that_see(place, views, pictures) >= 4;
      }
    EXPECT_GT(seen, 40) << views[v].name << " shows little but the sky";
  }
  EXPECT_GT(shared, 0.75 * tried);
}

TEST(CityPoints, LieOnWhatTheCamerasSee) {
  const City city(small_city(20, 2));
  const std::vector<SynthView> views = city.cameras();
  const std::vector<SynthPicture> pictures = depths_of(city, views);
  const Points points = city.points(0, city.point_count());
  int on_things = 0, seen = 0;
  for (const Vec3f point : points.position) {
    if (synth::length(point) > 300) continue;  // the sky, and far fields
    ++on_things;
    seen += views_that_see(point, views, pictures) > 0;
  }
  EXPECT_GT(on_things, 4000);
  EXPECT_GT(seen, 0.9 * on_things);
}

TEST(CityPoints, HaveThePhotosColors) {
  const City city(small_city(20, 2));
  const std::vector<SynthView> views = city.cameras();
  const SynthPicture picture = city.render(views[1]);
  const Points points = city.points(0, city.point_count());
  std::vector<int> differences;
  for (std::size_t i = 0; i < points.size(); ++i)
    if (const auto at = project_point(views[1].camera, points.position[i])) {
      const auto pixel = static_cast<std::size_t>(at->y) * 64 + static_cast<std::size_t>(at->x);
      if (std::abs(picture.depth[pixel] / at->z - 1) > 0.01f) continue;
      for (std::size_t c = 0; c < 3; ++c)
        differences.push_back(std::abs(picture.photo.rgb[3 * pixel + c] - points.color[i][c]));
    }
  ASSERT_GT(differences.size(), 500u);
  std::ranges::sort(differences);
  EXPECT_LT(differences[differences.size() / 2], 25);
}

TEST(CityPoints, CanBeBlackOrLeftOut) {
  CityOptions black = small_city(), none = small_city();
  black.photos.black_points = none.photos.no_points = true;
  EXPECT_EQ(City(black).points(0, 50).position, City(small_city()).points(0, 50).position);
  EXPECT_EQ(City(black).points(0, 1).color[0], (std::array<std::uint8_t, 3>{0, 0, 0}));
  EXPECT_EQ(City(none).point_count(), 0u);
}

}  // namespace
}  // namespace stipple
