// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/shade.h"

#include <algorithm>
#include <cmath>

#include "stipple/core/interpolate.h"

namespace stipple::synth {

namespace {

constexpr float kLift = 1e-3f;  // in scene units: rays that leave a surface start this far off it

constexpr Vec3f kSkyLight{0.30f, 0.38f, 0.52f};     // on a surface that faces up to an open sky
constexpr Vec3f kGroundLight{0.22f, 0.18f, 0.13f};  // on a surface that faces down
constexpr float kLeastShade = 0.02f;                // of the sky; an object that hides less is ignored
constexpr float kHighlight = 25;                    // the sun's reflection, relative to its light
constexpr float kHighlightExponent = 140;           // larger means a smaller highlight

struct Surface {
  Vec3f point;   // lifted off the surface
  Vec3f normal;  // unit, towards the viewer
};

Surface surface_at(const Ray& ray, const Hit& hit) {
  const Vec3f point = ray.at(hit.distance), normal = normal_at(hit.object->shape, point);
  return {point + normal * kLift, normal};
}

Vec3f surface_color(const Ray& ray, const Hit& hit) {
  return color_at(hit.object->material, local_point(hit.object->shape, ray.at(hit.distance)));
}

struct SunLight {
  Vec3f direction;  // unit, towards the middle of the sun
  float part;       // visible fraction of the sun
};

SunLight sun_light(const StillLife& scene, const Surface& s, const SquareSequence& sequence) {
  const Vec3f to_sun = scene.sun.center - s.point;
  const float distance = length(to_sun), sine = scene.sun.radius / distance;
  const Vec3f axis = to_sun * (1 / distance);
  if (dot(axis, s.normal) <= 0) return {axis, 0};
  const Candidates candidates(scene, Cone{s.point, axis, sine, std::sqrt(1 - sine * sine)});
  if (candidates.empty()) return {axis, 1};
  const Vec3f u = normalized(cross(axis, Vec3f(1, 0, 0))), v = cross(axis, u);
  int visible = 0;
  for (int i = 0; i < kSunRays; ++i) {
    const Vec2f d = on_disc(sequence.at(i)) * scene.sun.radius;
    visible += !is_blocked(candidates, {s.point, normalized(to_sun + u * d.x + v * d.y)});
  }
  return {axis, static_cast<float>(visible) / kSunRays};
}

// The fraction of the light from sky and ground that nearby objects let through. A ball hides
// cos(angle) r^2 / d^2 of a surface's light, less kLeastShade, so that its effect fades out with distance.
float open_sky(const StillLife& scene, const Surface& s) {
  float open = 1;
  for (const Ball& ball : scene.shades) {
    const Vec3f to_ball = ball.center - s.point;
    const float height = dot(to_ball, s.normal), square = dot(to_ball, to_ball);
    const float area = ball.radius * ball.radius - kLeastShade * square;
    if (height > 0 && area > 0) open *= 1 - std::min(area / square, 1.0f) * height / std::sqrt(square);
  }
  return open;
}

Vec3f sky_light(const StillLife& scene, const Surface& s) {
  return mix(kGroundLight, kSkyLight, 0.5f + 0.5f * s.normal.z) * open_sky(scene, s);
}

Vec3f matte(const StillLife& scene, const Surface& s, const SunLight& sun, Vec3f color) {
  const float facing = std::max(0.0f, dot(sun.direction, s.normal));
  return color * (sky_light(scene, s) + scene.sun.color * (sun.part * facing));
}

// Schlick, "An inexpensive BRDF model for physically-based rendering", 1994: reflects more at grazing angles.
float mirrored_part(float gloss, float cosine) {
  const float x = 1 - std::clamp(cosine, 0.0f, 1.0f);
  return gloss + (1 - gloss) * x * x * x * x * x;
}

}  // namespace

Vec3f matte_radiance(const StillLife& scene, const Ray& ray, const Hit& hit, const SquareSequence& sequence) {
  const Vec3f color = surface_color(ray, hit);
  if (hit.object == &scene.dome) return color;
  const Surface s = surface_at(ray, hit);
  return matte(scene, s, sun_light(scene, s, sequence), color);
}

Vec3f radiance(const StillLife& scene, const Ray& ray, const Hit& hit, const SquareSequence& sequence) {
  const float gloss = hit.object->material.gloss;
  if (gloss == 0) return matte_radiance(scene, ray, hit, sequence);
  const Surface s = surface_at(ray, hit);
  const SunLight sun = sun_light(scene, s, sequence);
  const float cosine = -dot(ray.direction, s.normal);
  const Ray mirrored{s.point, ray.direction + s.normal * (2 * cosine)};
  const Vec3f seen = matte_radiance(scene, mirrored, first_hit(scene, mirrored), sequence);
  const float along = std::max(0.0f, dot(mirrored.direction, sun.direction));
  const Vec3f highlight = scene.sun.color * (sun.part * kHighlight * std::pow(along, kHighlightExponent));
  const float part = mirrored_part(gloss, cosine);
  return matte(scene, s, sun, surface_color(ray, hit)) * (1 - part) + seen * part + highlight * part;
}

std::array<std::uint8_t, 3> develop(Vec3f radiance, float exposure) {
  std::array<std::uint8_t, 3> pixel;
  for (int c = 0; c < 3; ++c) {
    const float film = std::min(1.0f, exposure * (1 - std::exp(-radiance[c])));
    const float encoded = film <= 0.0031308f ? 12.92f * film : 1.055f * std::pow(film, 1 / 2.4f) - 0.055f;
    pixel[static_cast<std::size_t>(c)] = static_cast<std::uint8_t>(std::lround(255 * encoded));
  }
  return pixel;
}

}  // namespace stipple::synth
