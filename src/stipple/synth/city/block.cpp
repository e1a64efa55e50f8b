// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/city/block.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace stipple::synth::city {

namespace {

constexpr float kHalf = kBlockSize / 2;
constexpr float kInner = kHalf - kStreet;          // half the side of what the streets enclose
constexpr float kParked = kHalf - kRoad + 1.05f;   // where the middles of parked cars are
constexpr float kTreeLine = kHalf - kRoad - 1.2f;  // trees stand on the pavement

Bounds bounds_of(const Shape& shape) {
  if (const auto* box = std::get_if<Box>(&shape)) {
    Vec3f reach(0, 0, 0);
    for (int axis = 0; axis < 3; ++axis)
      for (int i = 0; i < 3; ++i) reach[i] += std::abs(box->rotation[axis][i]) * box->half_size[axis];
    return {box->center - reach, box->center + reach};
  }
  if (const auto* rod = std::get_if<Rod>(&shape)) {
    const Vec3f to = rod->from + rod->axis * rod->length, r(rod->radius, rod->radius, rod->radius);
    Bounds b;
    for (int i = 0; i < 3; ++i) {
      b.low[i] = std::min(rod->from[i], to[i]) - r[i];
      b.high[i] = std::max(rod->from[i], to[i]) + r[i];
    }
    return b;
  }
  const Ball ball = bound_of(shape);
  const Vec3f r(ball.radius, ball.radius, ball.radius);
  return {ball.center - r, ball.center + r};
}

// Where the lots of a row begin and end: equal parts, slightly displaced.
std::array<float, 5> cuts(int count, Random& random) {
  std::array<float, 5> at{};
  const float step = 2 * kInner / static_cast<float>(count);
  for (int i = 0; i <= count; ++i) {
    const float jitter = i == 0 || i == count ? 0 : 0.12f * step * random.uniform(-1, 1);
    at[static_cast<std::size_t>(i)] = -kInner + step * static_cast<float>(i) + jitter;
  }
  return at;
}

using AddBuilding = void (*)(Lot&, const Rectangle&, Random&);

// Divides the block into lots of a building each. Those that touch no street hold trees instead.
void add_buildings(Block& block, int columns, int rows, float gap, AddBuilding add, Random& random) {
  const std::array<float, 5> xs = cuts(columns, random), ys = cuts(rows, random);
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column) {
      const auto c = static_cast<std::size_t>(column), r = static_cast<std::size_t>(row);
      const Vec2f low(xs[c] + gap, ys[r] + gap), high(xs[c + 1] - gap, ys[r + 1] - gap);
      const bool inside = 0 < row && row < rows - 1 && 0 < column && column < columns - 1;
      Lot lot;
      if (inside)
        add_tree(lot, (low + high) * 0.5f, random);
      else
        add(lot, {low, high}, random);
      block.lots.push_back(std::move(lot));
    }
}

void add_park(Block& block, Random& random) {
  constexpr int kSide = 4;
  constexpr float kStep = 2 * kInner / kSide;
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      Lot lot;
      const int trees = 1 + static_cast<int>(random.below(2));
      for (int i = 0; i < trees; ++i) {
        const auto place = [&](int cell) {
          return -kInner + (static_cast<float>(cell) + random.uniform(0.25f, 0.75f)) * kStep;
        };
        const float at_x = place(x), at_y = place(y);
        if (std::hypot(at_x, at_y) > 9) add_tree(lot, {at_x, at_y}, random);  // the middle is open
      }
      if (!lot.parts.empty()) block.lots.push_back(std::move(lot));
    }
}

// Cars at the kerb and trees on the pavement of one side; (x, y) there is (along, beside), or the reverse.
void add_street_side(Block& block, bool along_x, float sign, Random& random) {
  const auto at = [&](float along, float beside) {
    return along_x ? Vec2f(along, sign * beside) : Vec2f(sign * beside, along);
  };
  Lot cars, trees;
  for (float along = -14; along <= 14; along += 5.6f)
    if (random.uniform() < 0.5f)
      add_car(cars, at(along + random.uniform(-0.4f, 0.4f), kParked), along_x, random);
  for (float along = -15; along <= 15; along += 10)
    if (random.uniform() < 0.4f) add_tree(trees, at(along + random.uniform(-1, 1), kTreeLine), random);
  for (Lot* lot : {&cars, &trees})
    if (!lot->parts.empty()) block.lots.push_back(std::move(*lot));
}

}  // namespace

void Lot::add(const Part& part) {
  const Bounds more = bounds_of(part.shape);
  for (int i = 0; i < 3; ++i) {
    bounds.low[i] = std::min(bounds.low[i], more.low[i]);
    bounds.high[i] = std::max(bounds.high[i], more.high[i]);
  }
  parts.push_back(part);
}

Block make_block(std::uint64_t seed, Place place) {
  const auto x = static_cast<std::uint64_t>(place.x), y = static_cast<std::uint64_t>(place.y);
  Random random(hash_bits(seed + 0x632be59bd9b4e019ull) ^ (x << 32 | y));
  Block block{place, Ground::kPaving, static_cast<int>(random.below(1 << 16)), {}, 0};
  const float kind = random.uniform();
  const int columns = 2 + static_cast<int>(random.below(2)), rows = 2 + static_cast<int>(random.below(2));
  if (kind < 0.12f) {
    block.ground = Ground::kPark;
    add_park(block, random);
  } else if (kind < 0.42f) {
    block.ground = Ground::kLawn;
    add_buildings(block, columns + 1, rows, 2.2f, add_house, random);
  } else if (kind < 0.80f) {
    add_buildings(block, columns, rows, random.uniform() < 0.5f ? 0.0f : 1.6f, add_flats, random);
  } else {
    add_buildings(block, 2, 1 + static_cast<int>(random.below(2)), 3.5f, add_tower, random);
  }
  for (const bool along_x : {false, true})
    for (const float sign : {-1.0f, 1.0f}) add_street_side(block, along_x, sign, random);
  for (const Lot& lot : block.lots) block.top = std::max(block.top, lot.bounds.high.z);
  return block;
}

}  // namespace stipple::synth::city
