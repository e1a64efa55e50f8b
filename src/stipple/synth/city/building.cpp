// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>

#include "stipple/core/interpolate.h"
#include "stipple/synth/city/block.h"

namespace stipple::synth::city {

namespace {

// Plaster, brick, sandstone and concrete.
constexpr std::array<Vec3f, 9> kWalls{{{0.62f, 0.54f, 0.42f},
                                       {0.40f, 0.17f, 0.11f},
                                       {0.52f, 0.28f, 0.18f},
                                       {0.66f, 0.62f, 0.55f},
                                       {0.45f, 0.46f, 0.46f},
                                       {0.64f, 0.46f, 0.26f},
                                       {0.36f, 0.42f, 0.45f},
                                       {0.70f, 0.66f, 0.60f},
                                       {0.55f, 0.38f, 0.34f}}};
constexpr std::array<Vec3f, 5> kRoofs{{{0.42f, 0.14f, 0.08f},
                                       {0.30f, 0.11f, 0.08f},
                                       {0.16f, 0.17f, 0.20f},
                                       {0.36f, 0.22f, 0.14f},
                                       {0.22f, 0.20f, 0.18f}}};
constexpr std::array<Vec3f, 4> kGlass{
    {{0.06f, 0.09f, 0.12f}, {0.05f, 0.11f, 0.13f}, {0.09f, 0.10f, 0.11f}, {0.10f, 0.15f, 0.20f}}};

template <std::size_t count>
Vec3f choose(const std::array<Vec3f, count>& colors, Random& random) {
  const Vec3f color = colors[random.below(count)];
  return color * random.uniform(0.85f, 1.15f);
}

int any_variant(Random& random) { return static_cast<int>(random.below(1 << 16)); }

Box upright_box(const Rectangle& place, float from, float to) {
  const Vec2f middle = (place.low + place.high) * 0.5f, half = (place.high - place.low) * 0.5f;
  return {{middle.x, middle.y, (from + to) / 2}, kUpright, {half.x, half.y, (to - from) / 2}};
}

Rectangle shrunk(const Rectangle& r, float by) {
  return {{r.low.x + by, r.low.y + by}, {r.high.x - by, r.high.y - by}};
}

// Leaves out some of the lot on each side, so that footprints vary.
Rectangle footprint(const Rectangle& lot, float most, Random& random) {
  const float a = random.uniform(0, most), b = random.uniform(0, most), c = random.uniform(0, most),
              d = random.uniform(0, most);
  return {{lot.low.x + a, lot.low.y + b}, {lot.high.x - c, lot.high.y - d}};
}

// A roof with slopes of 45 degrees: a square bar that lies on its edge, half sunk into the building.
Box bar_along(const Rectangle& place, float wall_top, bool along_x, float eaves) {
  const Vec2f middle = (place.low + place.high) * 0.5f, half = (place.high - place.low) * 0.5f;
  const float length = (along_x ? half.x : half.y) - 0.05f, width = (along_x ? half.y : half.x) + eaves;
  const float c = std::sqrt(0.5f), side = width * c;
  const Vec3f ridge = along_x ? Vec3f(1, 0, 0) : Vec3f(0, 1, 0), across(-ridge.y, ridge.x, 0), up(0, 0, 1);
  return {{middle.x, middle.y, wall_top - eaves},
          Mat3f(ridge, (across + up) * c, (up - across) * c),
          {length, side, side}};
}

// Boxes for lifts, stairs and ventilation.
void add_roof_things(Lot& lot, const Rectangle& roof, float height, Random& random) {
  const int count = 1 + static_cast<int>(random.below(4));
  for (int i = 0; i < count; ++i) {
    const float width = random.uniform(1, 3.2f), depth = random.uniform(1, 2.6f);
    const float x = random.uniform(roof.low.x + 1, std::max(roof.low.x + 1.1f, roof.high.x - 1 - width));
    const float y = random.uniform(roof.low.y + 1, std::max(roof.low.y + 1.1f, roof.high.y - 1 - depth));
    const float grey = random.uniform(0.2f, 0.6f), rise = random.uniform(0.7f, 2.4f);
    lot.add({upright_box({{x, y}, {x + width, y + depth}}, height - 0.1f, height + rise), Finish::kPlain,
             Vec3f(grey, grey, grey * 0.97f), Vec3f(grey, grey, grey) * 0.5f, 3, 3, any_variant(random)});
  }
}

Part facade(Finish finish, Random& random) {
  Part part;
  part.finish = finish;
  part.base = choose(kWalls, random);
  part.accent = choose(kGlass, random);
  part.bay = random.uniform(2.2f, 3.8f);
  part.floor = random.uniform(2.9f, 3.5f);
  part.variant = any_variant(random);
  return part;
}

}  // namespace

void add_house(Lot& lot, const Rectangle& place, Random& random) {
  const Rectangle walls = footprint(place, 1.5f, random);
  Part body = facade(Finish::kFacade, random);
  const int floors = 2 + static_cast<int>(random.below(2));
  const Vec2f size = walls.high - walls.low;
  // The ridge follows the longer side, so that the roof is no higher than need be; the walls are at least as
  // high as what of the roof is sunk into them.
  const bool along_x = size.x > size.y;
  const float half_width = std::min(size.x, size.y) / 2;
  const float top = std::max(static_cast<float>(floors) * body.floor, half_width + 1);
  body.shape = upright_box(walls, 0, top);
  lot.add(body);
  const Vec3f roof = choose(kRoofs, random);
  lot.add({bar_along(walls, top, along_x, 0.35f), Finish::kTiledRoof, roof, body.base, body.bay, body.floor,
           any_variant(random)});
  const float x = random.uniform(walls.low.x + 1, walls.high.x - 1.8f),
              y = random.uniform(walls.low.y + 1, walls.high.y - 1.8f);
  lot.add({upright_box({{x, y}, {x + 0.7f, y + 0.7f}}, top, top + half_width + 1), Finish::kPlain,
           Vec3f(0.34f, 0.17f, 0.12f), Vec3f(0.2f, 0.1f, 0.08f), 3, 3, any_variant(random)});
}

void add_flats(Lot& lot, const Rectangle& place, Random& random) {
  const Rectangle walls = footprint(place, 1.2f, random);
  Part body = facade(Finish::kFacade, random);
  const float top = static_cast<float>(4 + random.below(5)) * body.floor;
  body.shape = upright_box(walls, 0, top);
  lot.add(body);
  if (random.uniform() < 0.4f) {  // a storey on top that is set back
    Part attic = body;
    attic.base = mix(body.base, Vec3f(0.6f, 0.6f, 0.6f), 0.5f);
    attic.shape = upright_box(shrunk(walls, random.uniform(1.2f, 2.4f)), top - 0.1f, top + body.floor);
    lot.add(attic);
    return;
  }
  add_roof_things(lot, walls, top, random);
}

void add_tower(Lot& lot, const Rectangle& place, Random& random) {
  const Rectangle walls = footprint(place, 3, random);
  Part body = facade(random.uniform() < 0.6f ? Finish::kGlassFacade : Finish::kFacade, random);
  const float base_top = static_cast<float>(5 + random.below(4)) * body.floor;
  body.shape = upright_box(walls, 0, base_top);
  lot.add(body);
  const Rectangle upper = shrunk(walls, random.uniform(1, 3));
  const float top = std::min(base_top + static_cast<float>(2 + random.below(6)) * body.floor, kTallest - 3);
  body.variant = any_variant(random);
  body.shape = upright_box(upper, base_top - 0.1f, top);
  lot.add(body);
  add_roof_things(lot, upper, top, random);
}

}  // namespace stipple::synth::city
