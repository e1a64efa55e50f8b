// SPDX-License-Identifier: Apache-2.0
#pragma once
// What stands on the terrace: balls, boxes, and things made of thin rods, under a dome with a painted sky.
#include <cstdint>
#include <vector>

#include "stipple/synth/geometry.h"
#include "stipple/synth/material.h"

namespace stipple::synth {

constexpr float kSceneRadius = 1.7f;              // of a cylinder about the z axis that holds all things
constexpr float kDomeRadius = 10 * kSceneRadius;  // the ground ends where it meets the dome
constexpr Vec3f kMiddle{0, 0, 0.42f};             // what the cameras look at

struct Object {
  Shape shape;
  Material material;
  Ball bound;
};

struct Group {  // of things close together: a tree, so that a ray can pass by many at once
  std::vector<Object> objects;
  std::vector<Group> parts;
  Ball bound;
};

struct Light {  // a ball that shines white; too high to be seen itself
  Vec3f center;
  float radius;
  Vec3f color;
};

struct StillLife {
  Group things;
  std::vector<Ball> shades;  // balls about as large as the solid things: what they hide of the sky
  Object ground, dome;
  Light sun;
};

// The seed moves the textures.
StillLife make_still_life(std::uint64_t seed);

}  // namespace stipple::synth
