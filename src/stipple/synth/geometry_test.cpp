// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/geometry.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "stipple/core/random.h"

namespace stipple::synth {
namespace {

const float kRoot2 = std::sqrt(2.0f);
const Box kTurnedBox{{0, 0, 0}, {1 / kRoot2, 1 / kRoot2, 0, -1 / kRoot2, 1 / kRoot2, 0, 0, 0, 1}, {1, 1, 2}};

Vec3f random_vector(Random& random) { return {random.normal(), random.normal(), random.normal()}; }

Mat3f random_rotation(Random& random) {
  const Vec3f x = normalized(random_vector(random)), y = normalized(cross(x, random_vector(random)));
  return {x, y, cross(x, y)};
}

// How far a point is outside a solid; negative inside.
float outside(const Ball& ball, Vec3f p) { return length(p - ball.center) - ball.radius; }
float outside(const Box& box, Vec3f p) {
  const Vec3f q = transpose(box.rotation) * (p - box.center);
  float furthest = -kNever;
  for (int i = 0; i < 3; ++i) furthest = std::max(furthest, std::abs(q[i]) - box.half_size[i]);
  return furthest;
}
float outside(const Rod& rod, Vec3f p) {
  const float along = std::clamp(dot(p - rod.from, rod.axis), 0.0f, rod.length);
  return length(p - rod.from - rod.axis * along) - rod.radius;
}

// A ray that starts outside, aimed at the shape or near it.
Ray random_ray(const Shape& shape, Random& random) {
  const Ball bound = bound_of(shape);
  const Vec3f origin =
      bound.center + normalized(random_vector(random)) * (bound.radius * random.uniform(1.1f, 4));
  const Vec3f target = bound.center + random_vector(random) * (0.6f * bound.radius);
  return {origin, normalized(target - origin)};
}

template <class Solid>
void expect_first_hit(const Solid& solid, const Ray& ray) {
  const float distance = distance_to(solid, ray);
  const float end = std::min(distance, 20.0f);
  for (int i = 0; i < 50; ++i)  // there was no earlier hit
    ASSERT_GT(outside(solid, ray.at(end * static_cast<float>(i) / 50)), -1e-4f);
  if (distance == kNever) return;
  const Vec3f point = ray.at(distance), normal = normal_at(solid, point);
  ASSERT_NEAR(outside(solid, point), 0, 1e-4f);
  ASSERT_NEAR(length(normal), 1, 1e-5f);
  ASSERT_LT(dot(normal, ray.direction), 1e-2f);
  ASSERT_GT(outside(solid, point + normal * 0.01f), 0.005f);
  ASSERT_LT(length(point - bound_of(solid).center), bound_of(solid).radius + 1e-4f);
}

template <class Solid>
void expect_first_hits(const Solid& solid, Random& random) {
  for (int i = 0; i < 200; ++i) expect_first_hit(solid, random_ray(solid, random));
}

TEST(SynthGeometry, HitsBallAtTheRightDistance) {
  const Ball ball{{0, 0, 1}, 2};
  EXPECT_FLOAT_EQ(distance_to(ball, {{5, 0, 1}, {-1, 0, 0}}), 3);
  EXPECT_FLOAT_EQ(distance_to(ball, {{0, 0, 1}, {0, 1, 0}}), 2);  // from inside: on the way out
  EXPECT_EQ(distance_to(ball, {{5, 0, 1}, {1, 0, 0}}), kNever);   // behind
  EXPECT_EQ(distance_to(ball, {{5, 2.01f, 1}, {-1, 0, 0}}), kNever);
  EXPECT_EQ(normal_at(ball, {0, 0, 3}), Vec3f(0, 0, 1));
}

TEST(SynthGeometry, HitsBoxAtTheRightDistance) {
  EXPECT_NEAR(distance_to(kTurnedBox, {{5, 0, 0}, {-1, 0, 0}}), 5 - kRoot2, 1e-5f);
  EXPECT_FLOAT_EQ(distance_to(kTurnedBox, {{0.1f, 0.2f, 5}, {0, 0, -1}}), 3);
  EXPECT_EQ(distance_to(kTurnedBox, {{5, 1.5f, 0}, {-1, 0, 0}}), kNever);
  EXPECT_EQ(distance_to(kTurnedBox, {{5, 0, 0}, {1, 0, 0}}), kNever);
  EXPECT_EQ(normal_at(kTurnedBox, {0.1f, 0.2f, -2}), Vec3f(0, 0, -1));
}

TEST(SynthGeometry, HitsRodOnItsSideAndItsEnds) {
  const Rod rod = rod_between({0, 0, 0}, {0, 0, 3}, 0.5f);
  EXPECT_FLOAT_EQ(distance_to(rod, {{4, 0, 1}, {-1, 0, 0}}), 3.5f);
  EXPECT_FLOAT_EQ(distance_to(rod, {{0, 0, 9}, {0, 0, -1}}), 5.5f);
  EXPECT_FLOAT_EQ(distance_to(rod, {{4, 0, 3.3f}, {-1, 0, 0}}), 4 - 0.4f);  // a 0.3, 0.4, 0.5 triangle
  EXPECT_EQ(distance_to(rod, {{4, 0, 3.6f}, {-1, 0, 0}}), kNever);
  EXPECT_EQ(distance_to(rod, {{4, 0, 1}, {1, 0, 0}}), kNever);
}

TEST(SynthGeometry, HitsDiscFromAboveWithinItsRadius) {
  const Disc disc{{0, 0, 1}, 2};
  EXPECT_FLOAT_EQ(distance_to(disc, {{1, 1, 4}, {0, 0, -1}}), 3);
  EXPECT_EQ(distance_to(disc, {{1.5f, 1.5f, 4}, {0, 0, -1}}), kNever);
  EXPECT_EQ(distance_to(disc, {{0, 0, 0}, {0, 0, 1}}), kNever);
  EXPECT_EQ(distance_to(disc, {{0, 0, 4}, {1, 0, 0}}), kNever);
}

TEST(SynthGeometry, RandomRaysHitTheNearestSurfaceFromOutside) {
  Random random(1);
  for (int i = 0; i < 20; ++i) {
    const Vec3f place = random_vector(random);
    expect_first_hits(Ball{place, random.uniform(0.2f, 2)}, random);
    const Vec3f half_size(random.uniform(0.1f, 1), random.uniform(0.1f, 1), random.uniform(0.1f, 1));
    expect_first_hits(Box{place, random_rotation(random), half_size}, random);
    expect_first_hits(rod_between(place, random_vector(random), random.uniform(0.02f, 0.5f)), random);
  }
}

TEST(SynthGeometry, LocalPointsRotateWithTheBox) {
  const Vec3f local = local_point(kTurnedBox, {kRoot2, 0, 1});
  EXPECT_NEAR(local.x, 1, 1e-6f);
  EXPECT_NEAR(local.y, -1, 1e-6f);
  EXPECT_NEAR(local.z, 1, 1e-6f);
}

TEST(SynthGeometry, ConeTouchesEveryBallThatItsRaysHit) {
  Random random(2);
  int met = 0;
  for (int i = 0; i < 20000; ++i) {
    const Ball ball{random_vector(random), random.uniform(0.1f, 1)};
    const float sine = random.uniform(0, 0.9f), cosine = std::sqrt(1 - sine * sine);
    const Vec3f axis = normalized(random_vector(random));
    const Vec3f beside = normalized(cross(axis, random_vector(random)));
    const float part = random.uniform(0, 0.999f);
    const Ray ray{random_vector(random) * 2.0f, normalized(axis * cosine + beside * (sine * part))};
    if (distance_to(ball, ray) == kNever) continue;
    ++met;
    ASSERT_TRUE(touches({ray.origin, axis, sine, cosine}, ball));
  }
  EXPECT_GT(met, 300);
}

TEST(SynthGeometry, NarrowConeMissesBallsBesideIt) {
  const Cone cone{{0, 0, 0}, {0, 0, 1}, 0.1f, std::sqrt(0.99f)};
  EXPECT_FALSE(touches(cone, {{3, 0, 4}, 1}));
  EXPECT_FALSE(touches(cone, {{0, 0, -4}, 1}));
  EXPECT_TRUE(touches(cone, {{0, 1.3f, 4}, 1}));
}

}  // namespace
}  // namespace stipple::synth
