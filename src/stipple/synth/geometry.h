// SPDX-License-Identifier: Apache-2.0
#pragma once
// Shapes with closed-form ray intersections. World frame: z up, scene units.
#include <limits>
#include <variant>

#include "stipple/math/vec.h"

namespace stipple::synth {

inline float length(Vec3f v) { return std::sqrt(dot(v, v)); }
inline Vec3f normalized(Vec3f v) { return v * (1 / length(v)); }

struct Ray {
  Vec3f origin;
  Vec3f direction;  // unit

  Vec3f at(float distance) const { return origin + direction * distance; }
};

struct Ball {
  Vec3f center;
  float radius;
};

struct Box {
  Vec3f center;
  Mat3f rotation;  // world_from_box
  Vec3f half_size;
};

struct Rod {  // a cylinder with round ends
  Vec3f from;
  Vec3f axis;  // unit
  float length;
  float radius;
};
Rod rod_between(Vec3f from, Vec3f to, float radius);

struct Disc {  // horizontal, visible from above only
  Vec3f center;
  float radius;
};

using Shape = std::variant<Ball, Box, Rod, Disc>;

constexpr float kNever = std::numeric_limits<float>::infinity();

// The distance along the ray to its first hit on the surface, or kNever. A ray that starts inside a ball hits
// it on the way out; the other solids are only hit from outside.
float distance_to(const Ball& ball, const Ray& ray);
float distance_to(const Box& box, const Ray& ray);
float distance_to(const Rod& rod, const Ray& ray);
float distance_to(const Disc& disc, const Ray& ray);
float distance_to(const Shape& shape, const Ray& ray);

// The outward unit normal at a point on the surface.
Vec3f normal_at(const Shape& shape, Vec3f point);

// The point in the shape's own frame, to which its texture is fixed.
Vec3f local_point(const Shape& shape, Vec3f point);

Ball bound_of(const Shape& shape);

struct Cone {  // all rays from the apex within an angle of the axis
  Vec3f apex;
  Vec3f axis;  // unit
  float sine, cosine;
};

// Whether a ray of the cone may hit the ball. May be wrongly true, but never wrongly false.
inline bool touches(const Cone& cone, const Ball& ball) {
  const Vec3f to_center = ball.center - cone.apex;
  const float along = dot(to_center, cone.axis), beside_squared = dot(to_center, to_center) - along * along;
  // The centre is beside * cosine - along * sine away from the cone's surface. Avoids the square root, since
  // this is the most frequent test of all.
  const float limit = ball.radius + along * cone.sine;
  return along >= -ball.radius && limit >= 0 && beside_squared * cone.cosine * cone.cosine <= limit * limit;
}

}  // namespace stipple::synth
