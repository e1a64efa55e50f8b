// SPDX-License-Identifier: Apache-2.0
#pragma once
// The things in a block of the city. They are a function of the seed and the block's place alone, so that a
// block can be made whenever a ray needs it.
#include <vector>

#include "stipple/core/random.h"
#include "stipple/synth/city/plan.h"
#include "stipple/synth/geometry.h"

namespace stipple::synth::city {

enum class Finish { kPlain, kFacade, kGlassFacade, kTiledRoof, kLeaves, kCabin };

inline constexpr Mat3f kUpright(1, 0, 0, 0, 1, 0, 0, 0, 1);  // the rotation of most shapes

// A solid with its looks. Coordinates are those of its block: the middle of the block is the origin.
struct Part {
  Shape shape;
  Finish finish = Finish::kPlain;
  Vec3f base{0.5f, 0.5f, 0.5f};
  Vec3f accent{0.5f, 0.5f, 0.5f};
  float bay = 3, floor = 3;  // of a facade: the width of a window with its wall, the height of a storey
  int variant = 0;           // chooses among patterns and shifts noise
};

struct Bounds {
  Vec3f low{kNever, kNever, kNever}, high{-kNever, -kNever, -kNever};
};

// Neighbouring parts, which a ray can skip together. Everything is inside the block: a ray that has left it
// hits none of them.
struct Lot {
  Bounds bounds;
  std::vector<Part> parts;

  void add(const Part& part);
};

enum class Ground { kLawn, kPark, kPaving };

struct Block {
  Place place;
  Ground ground;
  int variant;  // of the ground
  std::vector<Lot> lots;
  float top;  // the height of the highest thing
};

Block make_block(std::uint64_t seed, Place place);

struct Rectangle {  // in the plane of the ground
  Vec2f low, high;
};

// building.cpp
void add_house(Lot& lot, const Rectangle& place, Random& random);
void add_flats(Lot& lot, const Rectangle& place, Random& random);
void add_tower(Lot& lot, const Rectangle& place, Random& random);

// street_things.cpp
void add_tree(Lot& lot, Vec2f foot, Random& random);
void add_car(Lot& lot, Vec2f middle, bool along_x, Random& random);

}  // namespace stipple::synth::city
