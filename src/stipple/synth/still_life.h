// SPDX-License-Identifier: Apache-2.0
#pragma once
// The objects on the terrace: balls, boxes and structures of thin rods, under a dome with a painted sky.
#include <cstdint>
#include <vector>

#include "stipple/synth/geometry.h"
#include "stipple/synth/material.h"

namespace stipple::synth {

constexpr float kSceneRadius = 1.7f;              // of a cylinder around the z axis that contains all objects
constexpr float kDomeRadius = 10 * kSceneRadius;  // the ground ends where it meets the dome
constexpr Vec3f kMiddle{0, 0, 0.42f};             // where the cameras look

struct Object {
  Shape shape;
  Material material;
  Ball bound;
};

struct Group {  // a tree of nearby objects, so that a ray can skip many at once
  std::vector<Object> objects;
  std::vector<Group> parts;
  Ball bound;
};

Group make_group(std::vector<Object> objects, std::vector<Group> parts = {});

struct Light {  // a shining ball, too high to be visible itself
  Vec3f center;
  float radius;
  Vec3f color;
};

struct StillLife {
  Group things;
  std::vector<Ball> shades;  // stand for the solid objects in computing how much sky they hide
  Object ground, dome;
  Light sun;
};

// The seed shifts the textures and changes nothing else.
StillLife make_still_life(std::uint64_t seed);

}  // namespace stipple::synth
