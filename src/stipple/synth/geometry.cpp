// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/geometry.h"

#include <algorithm>
#include <cmath>

namespace stipple::synth {

namespace {

// The component of a vector perpendicular to a unit axis.
Vec3f across(Vec3f v, Vec3f axis) { return v - axis * dot(v, axis); }

Vec3f local(const Ball& ball, Vec3f point) { return point - ball.center; }
Vec3f local(const Box& box, Vec3f point) { return transpose(box.rotation) * (point - box.center); }
Vec3f local(const Rod& rod, Vec3f point) { return point - rod.from; }
Vec3f local(const Disc& disc, Vec3f point) { return point - disc.center; }

Vec3f normal(const Ball& ball, Vec3f point) { return normalized(point - ball.center); }

Vec3f normal(const Box& box, Vec3f point) {
  const Vec3f p = local(box, point);
  int face = 0;  // the axis along which the point is nearest to, or furthest beyond, a face
  for (int i : {1, 2})
    if (std::abs(p[i]) - box.half_size[i] > std::abs(p[face]) - box.half_size[face]) face = i;
  return box.rotation[face] * std::copysign(1.0f, p[face]);
}

Vec3f normal(const Rod& rod, Vec3f point) {
  const float along = std::clamp(dot(point - rod.from, rod.axis), 0.0f, rod.length);
  return normalized(point - (rod.from + rod.axis * along));
}

Vec3f normal(const Disc&, Vec3f) { return {0, 0, 1}; }

Ball bound(const Ball& ball) { return ball; }
Ball bound(const Box& box) { return {box.center, length(box.half_size)}; }
Ball bound(const Rod& rod) { return {rod.from + rod.axis * (rod.length / 2), rod.length / 2 + rod.radius}; }
Ball bound(const Disc& disc) { return {disc.center, disc.radius}; }

}  // namespace

Rod rod_between(Vec3f from, Vec3f to, float radius) {
  return {from, normalized(to - from), length(to - from), radius};
}

// Solves |o + t d|^2 = r^2, relative to the ball's centre.
float distance_to(const Ball& ball, const Ray& ray) {
  const Vec3f o = ray.origin - ball.center;
  const float b = dot(o, ray.direction), c = dot(o, o) - ball.radius * ball.radius;
  const float discriminant = b * b - c;
  if (discriminant < 0 || (c > 0 && b > 0)) return kNever;  // the ray misses, or the ball is behind it
  const float root = std::sqrt(discriminant);
  return c > 0 ? -b - root : -b + root;
}

// The box lies between three pairs of planes: the ray hits it if its last entry precedes its first exit.
float distance_to(const Box& box, const Ray& ray) {
  const Vec3f o = local(box, ray.origin), d = transpose(box.rotation) * ray.direction;
  float entry = -kNever, exit = kNever;
  for (int i = 0; i < 3; ++i) {
    const float inverse = 1 / d[i];
    const float reach = box.half_size[i] * std::abs(inverse), middle = -o[i] * inverse;
    entry = std::max(entry, middle - reach);
    exit = std::min(exit, middle + reach);
  }
  return 0 < entry && entry < exit ? entry : kNever;
}

// Solves |o + t d|^2 = r^2 for the components across the axis; beyond an end, intersects that end's ball.
float distance_to(const Rod& rod, const Ray& ray) {
  const Vec3f start = ray.origin - rod.from;
  const Vec3f o = across(start, rod.axis), d = across(ray.direction, rod.axis);
  const float a = dot(d, d), b = dot(o, d), c = dot(o, o) - rod.radius * rod.radius;
  const float discriminant = b * b - a * c;
  if (discriminant < 0 || (c > 0 && b > 0)) return kNever;
  // A ray along the axis (a = 0) that starts outside starts beyond an end.
  const float t = a > 0 ? (-b - std::sqrt(discriminant)) / a : 0;
  const float along = dot(start + ray.direction * t, rod.axis);
  if (0 <= along && along <= rod.length) return t > 0 ? t : kNever;
  const Vec3f end = along < 0 ? rod.from : rod.from + rod.axis * rod.length;
  return distance_to(Ball{end, rod.radius}, ray);
}

float distance_to(const Disc& disc, const Ray& ray) {
  const float t = (disc.center.z - ray.origin.z) / ray.direction.z;
  if (!(t > 0) || ray.direction.z > 0) return kNever;
  const Vec3f p = ray.at(t) - disc.center;
  return p.x * p.x + p.y * p.y <= disc.radius * disc.radius ? t : kNever;
}

float distance_to(const Shape& shape, const Ray& ray) {
  return std::visit([&](const auto& s) { return distance_to(s, ray); }, shape);
}

Vec3f normal_at(const Shape& shape, Vec3f point) {
  return std::visit([&](const auto& s) { return normal(s, point); }, shape);
}

Vec3f local_point(const Shape& shape, Vec3f point) {
  return std::visit([&](const auto& s) { return local(s, point); }, shape);
}

Ball bound_of(const Shape& shape) {
  return std::visit([](const auto& s) { return bound(s); }, shape);
}

}  // namespace stipple::synth
