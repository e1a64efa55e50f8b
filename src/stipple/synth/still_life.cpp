// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/still_life.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "stipple/core/random.h"

namespace stipple::synth {

namespace {

constexpr float kDegree = 0.017453293f;
constexpr Material kBrass{.base = {0.62f, 0.40f, 0.12f}};
constexpr Material kPaintedRod{.base = {0.80f, 0.80f, 0.76f}};

// A ball that contains all these balls, around the mean of their centres.
Ball bound_of_all(const std::vector<Ball>& balls) {
  Vec3f center(0, 0, 0);
  for (const Ball& b : balls) center = center + b.center * (1 / static_cast<float>(balls.size()));
  float radius = 0;
  for (const Ball& b : balls) radius = std::max(radius, length(b.center - center) + b.radius);
  return {center, radius};
}

// Places objects and gives each its own part of the texture.
class Builder {
 public:
  explicit Builder(std::uint64_t seed) : random_(seed) {}

  Object object(const Shape& shape, Material material) {
    const auto offset = [this] { return random_.uniform(0, 500); };
    material.texture_offset = {offset(), offset(), offset()};
    return {shape, material, bound_of(shape)};
  }

  void add(const Shape& shape, const Material& material) { open_.push_back(object(shape, material)); }

  // Adds a box that stands at `foot`, rotated about the vertical.
  void add_box(Vec3f foot, Vec3f half_size, float degrees, const Material& material) {
    const float c = std::cos(degrees * kDegree), s = std::sin(degrees * kDegree);
    add(Box{foot + Vec3f(0, 0, half_size.z), Mat3f(c, s, 0, -s, c, 0, 0, 0, 1), half_size}, material);
  }

  // Adds a ball that lies at `foot`.
  void add_ball(Vec3f foot, float radius, const Material& material) {
    add(Ball{foot + Vec3f(0, 0, radius), radius}, material);
  }

  // Groups what was added since the last group.
  Group close_group(std::vector<Group> parts = {}) {
    return make_group(std::exchange(open_, {}), std::move(parts));
  }

 private:
  Random random_;
  std::vector<Object> open_;
};

Group balls(Builder& b) {
  b.add_ball({0.62f, 0.52f, 0}, 0.40f,
             {Pattern::kSpeckles, {0.01f, 0.12f, 0.20f}, {0.03f, 0.24f, 0.27f}, 0.05f, 0.07f});
  b.add_ball({-0.98f, -0.12f, 0}, 0.21f,
             {Pattern::kStripes, {0.85f, 0.80f, 0.68f}, {0.72f, 0.07f, 0.06f}, 0.085f});
  b.add_ball({0.08f, -0.86f, 0}, 0.14f,
             {Pattern::kSpeckles, {0.30f, 0.45f, 0.10f}, {0.62f, 0.66f, 0.22f}, 0.05f});
  return b.close_group();
}

Group crate(Builder& b) {
  b.add_box({-0.64f, 0.56f, 0}, {0.36f, 0.29f, 0.27f}, 28,
            {Pattern::kWood, {0.58f, 0.36f, 0.17f}, {0.36f, 0.19f, 0.08f}, 0.10f});
  b.add_ball({-0.72f, 0.52f, 0.54f}, 0.21f,
             {Pattern::kMarble, {0.82f, 0.80f, 0.76f}, {0.20f, 0.22f, 0.27f}, 0.14f});
  b.add_box({-0.42f, 0.66f, 0.54f}, {0.085f, 0.085f, 0.085f}, 62,
            {Pattern::kChecker, {0.80f, 0.62f, 0.10f}, {0.12f, 0.28f, 0.16f}, 0.085f});
  return b.close_group();
}

Group books(Builder& b) {
  b.add_box({0.66f, -0.48f, 0}, {0.40f, 0.28f, 0.055f}, -18,
            {Pattern::kSpeckles, {0.42f, 0.05f, 0.06f}, {0.58f, 0.16f, 0.10f}, 0.05f});
  b.add_box({0.64f, -0.46f, 0.11f}, {0.34f, 0.25f, 0.045f}, 9,
            {Pattern::kStripes, {0.07f, 0.13f, 0.34f}, {0.62f, 0.55f, 0.38f}, 0.16f});
  b.add_ball({0.60f, -0.44f, 0.20f}, 0.155f,
             {Pattern::kSpeckles, {0.86f, 0.36f, 0.04f}, {0.70f, 0.24f, 0.02f}, 0.035f});
  return b.close_group();
}

Group cube(Builder& b) {
  b.add_box({-0.48f, -0.62f, 0}, {0.20f, 0.20f, 0.20f}, 40,
            {Pattern::kChecker, {0.78f, 0.76f, 0.70f}, {0.10f, 0.22f, 0.46f}, 0.10f});
  b.add_ball({-0.48f, -0.62f, 0.40f}, 0.12f,
             {Pattern::kMarble, {0.60f, 0.24f, 0.14f}, {0.82f, 0.58f, 0.42f}, 0.07f});
  return b.close_group();
}

// A ring of short rods in the plane spanned by two unit vectors.
Group ring(Builder& b, Vec3f center, Vec3f u, Vec3f v, float radius) {
  constexpr int kArcs = 6, kRodsPerArc = 4;
  const auto corner = [&](int i) {
    const float angle = 360 * kDegree * static_cast<float>(i) / (kArcs * kRodsPerArc);
    return center + u * (radius * std::cos(angle)) + v * (radius * std::sin(angle));
  };
  std::vector<Group> arcs;
  for (int arc = 0; arc < kArcs; ++arc) {
    for (int i = arc * kRodsPerArc; i < (arc + 1) * kRodsPerArc; ++i)
      b.add(rod_between(corner(i), corner(i + 1), 0.013f), kBrass);
    arcs.push_back(b.close_group());
  }
  return b.close_group(std::move(arcs));
}

// Three legs that carry two rings with a ball at their centre.
Group tripod(Builder& b) {
  const Vec3f top(0, 0, 0.80f), center(0, 0, 1.05f);
  std::vector<Group> rings;
  rings.push_back(ring(b, center, {0.8f, 0.6f, 0}, {0, 0, 1}, 0.25f));
  rings.push_back(ring(b, center, {0.6f, -0.8f, 0}, {0.48f, 0.36f, 0.8f}, 0.23f));
  b.add(Ball{center, 0.11f}, {Pattern::kMarble, {0.72f, 0.10f, 0.22f}, {0.90f, 0.72f, 0.62f}, 0.08f});
  for (float degrees : {20.0f, 140.0f, 260.0f}) {
    const Vec3f foot(0.28f * std::cos(degrees * kDegree), 0.28f * std::sin(degrees * kDegree), 0);
    b.add(rod_between(foot, top, 0.016f), kBrass);
  }
  return b.close_group(std::move(rings));
}

// An upright garden trellis.
Group trellis(Builder& b) {
  const Vec3f along(0.94f, 0.342f, 0), up(0, 0, 1), corner(-0.45f, 0.99f, 0);
  constexpr int kBars = 5;
  constexpr float kWidth = 0.76f, kHeight = 0.72f, kRadius = 0.012f;
  for (int i = 0; i < kBars; ++i) {
    const float at = static_cast<float>(i) / (kBars - 1);
    const Vec3f foot = corner + along * (kWidth * at), side = corner + up * (kHeight * (0.08f + 0.92f * at));
    b.add(rod_between(foot, foot + up * kHeight, kRadius), kPaintedRod);
    b.add(rod_between(side, side + along * kWidth, kRadius), kPaintedRod);
  }
  return b.close_group();
}

// Rods are left out: they hide too little of the sky.
void add_shades(const Group& group, std::vector<Ball>& shades) {
  for (const Object& object : group.objects) {
    if (const auto* ball = std::get_if<Ball>(&object.shape)) shades.push_back(*ball);
    if (const auto* box = std::get_if<Box>(&object.shape)) {
      const Vec3f h = box->half_size;
      shades.push_back({box->center, 1.15f * std::cbrt(h.x * h.y * h.z)});
    }
  }
  for (const Group& part : group.parts) add_shades(part, shades);
}

}  // namespace

Group make_group(std::vector<Object> objects, std::vector<Group> parts) {
  std::vector<Ball> bounds;
  for (const Object& object : objects) bounds.push_back(object.bound);
  for (const Group& part : parts) bounds.push_back(part.bound);
  return {std::move(objects), std::move(parts), bound_of_all(bounds)};
}

StillLife make_still_life(std::uint64_t seed) {
  Builder b(seed);
  StillLife scene;
  std::vector<Group> groups;
  for (auto* make : {balls, crate, books, cube, tripod, trellis}) groups.push_back(make(b));
  scene.things = make_group({}, std::move(groups));
  add_shades(scene.things, scene.shades);
  scene.ground = b.object(Disc{{0, 0, 0}, kDomeRadius},
                          {Pattern::kTerrace, {0.46f, 0.20f, 0.11f}, {0.58f, 0.46f, 0.31f}});
  scene.dome = b.object(Ball{{0, 0, 0}, kDomeRadius},
                        {Pattern::kSky, {0.16f, 0.36f, 0.95f}, {0.85f, 0.95f, 1.10f}, kDomeRadius});
  scene.sun = {{-5.2f, -4.4f, 8.2f}, 0.75f, {2.1f, 1.88f, 1.55f}};
  return scene;
}

}  // namespace stipple::synth
