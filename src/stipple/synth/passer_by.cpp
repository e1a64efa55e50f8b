// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/passer_by.h"

#include <array>
#include <cmath>
#include <utility>

#include "stipple/synth/random_stream.h"
#include "stipple/synth/ray_camera.h"

namespace stipple::synth {

namespace {

constexpr float kNearness = 0.3f;     // of the figure: its depth as a part of the distance to the middle
constexpr float kCoveredPart = 0.1f;  // of the picture
constexpr float kFigureArea = 0.25f;  // of a figure of height 1, as seen from the front
constexpr float kGoldenRatio = 0.618034f;
constexpr Material kSkin{.base = {0.55f, 0.33f, 0.22f}};

struct Limb {
  Vec2f from, to;  // x to the right, y up; the figure is 1 high, with its middle at the origin
  float radius;
};
constexpr std::array<Limb, 5> kClothes{{
    {{0, -0.02f}, {0, 0.22f}, 0.13f},             // the trunk
    {{-0.07f, -0.44f}, {-0.06f, -0.05f}, 0.06f},  // the legs
    {{0.07f, -0.44f}, {0.06f, -0.05f}, 0.06f},    //
    {{-0.15f, 0.24f}, {-0.22f, -0.04f}, 0.04f},   // the arms
    {{0.15f, 0.24f}, {0.22f, -0.04f}, 0.04f},     //
}};
constexpr Vec2f kHead{0, 0.41f};
constexpr float kHeadRadius = 0.09f;

// A plane parallel to the image, in which a length of 1 is the height of the figure.
struct Plane {
  Vec3f middle, right, up;
  float height;

  Vec3f at(Vec2f p) const { return middle + right * (height * p.x) + up * (height * p.y); }
};

Plane plane_of(const Camera& camera, Random& random) {
  const RayCamera eye(camera);
  const Mat3f axes = transpose(camera.camera_from_world.rotation);
  const float depth = kNearness * length(kMiddle - eye.position());
  const auto width_px = static_cast<float>(camera.width_px), height_px = static_cast<float>(camera.height_px);
  const Vec2f place_px(width_px * random.uniform(0.2f, 0.8f), height_px * random.uniform(0.35f, 0.65f));
  const Ray ray = eye.ray(place_px);
  const float figure_px = std::sqrt(width_px * height_px * kCoveredPart / kFigureArea);
  return {ray.at(depth / eye.depth(ray, 1)), axes[0], -axes[1], figure_px * depth / camera.focal_px.y};
}

// Consecutive numbers have very different hues.
Material clothes(int number) {
  const float hue = kGoldenRatio * static_cast<float>(number);
  const auto channel = [hue](float shift) { return 0.4f + 0.36f * std::cos(6.2831853f * (hue + shift)); };
  return {.base = {channel(0), channel(1.0f / 3), channel(2.0f / 3)}};
}

}  // namespace

void add_passer_by(StillLife& scene, const Camera& camera, int number, std::uint64_t seed) {
  Random random = random_stream(seed, Stream::kFigures);
  random.skip(2 * static_cast<std::uint64_t>(number));  // a figure uses two numbers
  const Plane plane = plane_of(camera, random);
  const auto object = [](const Shape& shape, const Material& material) {
    return Object{shape, material, bound_of(shape)};
  };
  std::vector<Object> parts{object(Ball{plane.at(kHead), plane.height * kHeadRadius}, kSkin)};
  for (const Limb& limb : kClothes)
    parts.push_back(object(rod_between(plane.at(limb.from), plane.at(limb.to), plane.height * limb.radius),
                           clothes(number)));
  std::vector<Group> groups{std::move(scene.things), make_group(std::move(parts))};
  scene.things = make_group({}, std::move(groups));
}

}  // namespace stipple::synth
