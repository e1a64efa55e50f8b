// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/city/ground.h"

#include <algorithm>
#include <cmath>

#include "stipple/synth/city/pattern.h"

namespace stipple::synth::city {

namespace {

constexpr Vec3f kPaint{0.72f, 0.71f, 0.66f};

Vec3f asphalt(Vec2f p, float footprint) {
  const float patch = stain(p, 7, footprint), worn = stain(p, 1.6f, footprint),
              grain = stain(p, 0.22f, footprint);
  return Vec3f(0.145f, 0.145f, 0.15f) * (1 + 0.55f * patch + 0.35f * worn + 0.6f * grain);
}

Vec3f slabs(Vec2f p, float size, Vec3f color, float footprint) {
  const float w = footprint / size;
  const float joint = std::max(pulse(p.x / size, w, 0, 0.05f), pulse(p.y / size, w, 0, 0.05f));
  const auto column = static_cast<std::int64_t>(std::floor(p.x / size)),
             row = static_cast<std::int64_t>(std::floor(p.y / size));
  const float tone = visible_part(size, footprint) * (cell_value(column, row, 7) - 0.5f);
  const float dirt = 0.5f * stain(p, 3, footprint) + 0.4f * stain(p, 0.3f, footprint);
  return color * ((1 + 0.35f * tone + dirt) * (1 - 0.5f * joint));
}

Vec3f grass(Vec2f p, float footprint) {
  const float dry = 0.5f + stain(p, 6, footprint), tuft = stain(p, 0.9f, footprint),
              blade = stain(p, 0.18f, footprint);
  return mix(Vec3f(0.09f, 0.19f, 0.04f), Vec3f(0.25f, 0.25f, 0.09f), dry) * (1 + 0.8f * tuft + 0.9f * blade);
}

// A street along an axis: `along` from the middle of the block, `beside` from the middle of the street.
Vec3f marked(Vec3f color, float along, float beside, float footprint) {
  const float to_crossing = kBlockSize / 2 - std::abs(along);  // from the middle of the crossing street
  const float road = band(beside, footprint, -1, kRoad - 0.3f);
  float paint = band(beside, footprint, -0.09f, 0.09f) * pulse(along / 5, footprint / 5, 0.2f, 0.7f) *
                band(to_crossing, footprint, 12, 100);
  paint +=
      road * pulse(beside / 1.1f, footprint / 1.1f, 0.25f, 0.75f) * band(to_crossing, footprint, 7.4f, 10.4f);
  paint += road * band(to_crossing, footprint, 11.2f, 11.6f);
  paint += band(beside, footprint, 2.42f, 2.52f) * band(to_crossing, footprint, 12, 100);
  return mix(color, kPaint, 0.85f * paint);
}

Vec3f park(const Block& block, Vec2f p, Vec2f world, float footprint) {
  const float radius = std::hypot(p.x, p.y), inner = kBlockSize / 2 - kStreet;
  const Vec3f gravel = slabs(world, 0.7f, {0.50f, 0.42f, 0.30f}, footprint);
  const float crossing =
      std::max(band(p.x - p.y, footprint, -1.5f, 1.5f), band(p.x + p.y, footprint, -1.5f, 1.5f));
  const float ring = band(radius, footprint, 6.5f, 8.5f);
  const float edge = band(std::max(std::abs(p.x), std::abs(p.y)), footprint, inner - 1.6f, inner - 0.4f);
  Vec3f color = mix(grass(world, footprint), gravel, std::max({crossing, ring, edge}));
  const bool has_pond = block.variant % 2 == 0;
  const Vec3f middle = has_pond ? Vec3f(0.07f, 0.13f, 0.13f) * (1 + stain(world, 1.2f, footprint))
                                : mix(Vec3f(0.42f, 0.12f, 0.16f), Vec3f(0.60f, 0.48f, 0.10f),
                                      0.5f + 2 * stain(world, 0.8f, footprint));
  return mix(color, middle, band(radius, footprint, -1, 4.5f));
}

Vec3f enclosed(const Block& block, Vec2f p, Vec2f world, float footprint) {
  if (block.ground == Ground::kPark) return park(block, p, world, footprint);
  if (block.ground == Ground::kLawn) return grass(world, footprint);
  const float warmth = static_cast<float>(block.variant % 16) / 15;
  return slabs(world, 1.5f, mix({0.34f, 0.33f, 0.32f}, {0.46f, 0.34f, 0.26f}, warmth), footprint);
}

}  // namespace

Vec3f ground_color(const Block& block, Vec2f p, Vec2f world, float footprint) {
  constexpr float kHalf = kBlockSize / 2;
  const float beside_x = kHalf - std::abs(p.x),
              beside_y = kHalf - std::abs(p.y);  // from the streets' middles
  const float nearest = std::min(beside_x, beside_y);
  if (nearest >= kStreet + footprint) return enclosed(block, p, world, footprint);
  const float road = band(nearest, footprint, -1, kRoad),
              kerb = band(nearest, footprint, kRoad, kRoad + 0.25f);
  Vec3f color = slabs(world, 0.9f, {0.40f, 0.38f, 0.35f}, footprint);
  if (nearest > kStreet)
    color = mix(color, enclosed(block, p, world, footprint), (nearest - kStreet) / footprint);
  color = mix(color, {0.52f, 0.51f, 0.48f}, kerb);
  if (road <= 0) return color;
  Vec3f surface = asphalt(world, footprint);
  if (beside_y < kRoad + 1 && beside_x > kRoad) surface = marked(surface, p.x, beside_y, footprint);
  if (beside_x < kRoad + 1 && beside_y > kRoad) surface = marked(surface, p.y, beside_x, footprint);
  return mix(color, surface, road);
}

Vec3f field_color(Vec2f p, float outside, float footprint) {
  const float crop = cell_value(static_cast<std::int64_t>(std::floor(p.x / 90)),
                                static_cast<std::int64_t>(std::floor(p.y / 70)), 3);
  const Vec3f base = mix(Vec3f(0.14f, 0.22f, 0.06f), Vec3f(0.38f, 0.31f, 0.13f), crop);
  const Vec3f field = base * (1 + 0.6f * stain(p, 14, footprint) + 0.5f * stain(p, 2.5f, footprint) +
                              0.5f * stain(p, 0.4f, footprint));
  return mix(field, asphalt(p, footprint), band(outside, footprint, -1, kRoad));
}

}  // namespace stipple::synth::city
