// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/city/shade.h"

#include <algorithm>
#include <cmath>

#include "stipple/core/interpolate.h"
#include "stipple/synth/city/finish.h"
#include "stipple/synth/city/ground.h"
#include "stipple/synth/material.h"

namespace stipple::synth::city {

namespace {

constexpr float kLift = 0.01f;  // in metres: rays that leave a surface start this far off it

constexpr Vec3f kToSun{-0.4975186f, -0.3383126f, 0.7986509f};  // unit
constexpr float kSunRadius = 0.012f;                           // at a distance of 1
constexpr Vec3f kSunLight{1.75f, 1.58f, 1.32f};
constexpr Vec3f kSkyLight{0.42f, 0.50f, 0.62f};     // on a surface that faces up to an open sky
constexpr Vec3f kGroundLight{0.26f, 0.24f, 0.21f};  // on a surface that faces down
constexpr float kHiddenLight = 0.35f;               // what a part sends instead of the sky that it hides
constexpr float kShadeReach = 14;                   // metres: parts that are further away hide no sky

struct Basis {
  Vec3f u, v;
};

Basis across(Vec3f axis) {
  const Vec3f helper = std::abs(axis.x) < 0.6f ? Vec3f(1, 0, 0) : Vec3f(0, 1, 0);
  const Vec3f u = normalized(cross(axis, helper));
  return {u, cross(axis, u)};
}

bool sees_sun(Tracer& tracer, Vec3f point, Vec2f random) {
  static const Basis basis = across(kToSun);
  const Vec2f d = on_disc(random) * kSunRadius;
  const Vec3f direction = normalized(kToSun + basis.u * d.x + basis.v * d.y);
  return !tracer.is_blocked({point, direction}, kNever);
}

// Along a direction that is as probable as light from it counts.
bool sees_sky(Tracer& tracer, Vec3f point, Vec3f normal, Vec2f random) {
  const Basis basis = across(normal);
  const Vec2f d = on_disc(random);
  const float up = std::sqrt(std::max(0.0f, 1 - dot(d, d)));
  return !tracer.is_blocked({point, basis.u * d.x + basis.v * d.y + normal * up}, kShadeReach);
}

Vec3f light_on(Tracer& tracer, Vec3f point, Vec3f normal, const SquareSequence& sequence) {
  constexpr int kSkyRays = kLightRays / 2;
  int open = 0;
  for (int i = 0; i < kSkyRays; ++i) open += sees_sky(tracer, point, normal, sequence.at(i));
  const float open_part = static_cast<float>(open) / kSkyRays;
  const Vec3f light =
      mix(kGroundLight, kSkyLight, 0.5f + 0.5f * normal.z) * (kHiddenLight + (1 - kHiddenLight) * open_part);
  const float facing = dot(kToSun, normal);
  if (facing <= 0) return light;
  int visible = 0;
  for (int i = kSkyRays; i < kLightRays; ++i) visible += sees_sun(tracer, point, sequence.at(i));
  return light + kSunLight * (facing * static_cast<float>(visible) / (kLightRays - kSkyRays));
}

// The sky is painted on a dome that is so far away that it moves little.
Vec3f sky(const Plan& plan, const Ray& ray) {
  const float radius = plan.dome_radius();
  const Material paint{Pattern::kSky, {0.16f, 0.36f, 0.95f}, {0.85f, 0.95f, 1.10f}, radius};
  return color_at(paint, ray.at(distance_to(Ball{{0, 0, 0}, radius}, ray)));
}

}  // namespace

Vec3f radiance(Tracer& tracer, const Ray& ray, const Hit& hit, float pixel_angle,
               const SquareSequence& sequence) {
  const Plan& plan = tracer.plan();
  if (hit.is_sky()) return sky(plan, ray);
  const Vec3f point = ray.at(hit.distance);
  const Vec3f middle = hit.block ? plan.middle_of(hit.block->place) : Vec3f(0, 0, 0);
  const Vec3f normal = hit.part ? normal_at(hit.part->shape, point - middle) : Vec3f(0, 0, 1);
  // Seen at a slant, a pixel covers more along one direction; the patterns get the geometric mean of both.
  const float slant = std::sqrt(std::max(0.05f, std::abs(dot(ray.direction, normal))));
  const float footprint = hit.distance * pixel_angle / slant;
  Vec3f color;
  if (hit.part)
    color = color_of(*hit.part, point - middle, normal, footprint);
  else if (hit.block)
    color = ground_color(*hit.block, {point.x - middle.x, point.y - middle.y}, {point.x, point.y}, footprint);
  else
    color = field_color({point.x, point.y}, std::max(std::abs(point.x), std::abs(point.y)) - plan.half_size(),
                        footprint);
  return color * light_on(tracer, point + normal * kLift, normal, sequence);
}

}  // namespace stipple::synth::city
