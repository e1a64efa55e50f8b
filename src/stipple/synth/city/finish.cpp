// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/city/finish.h"

#include <algorithm>
#include <cmath>

#include "stipple/synth/city/pattern.h"

namespace stipple::synth::city {

namespace {

// A place on a wall: along it from its left end and up from its foot, in metres.
struct WallPlace {
  float along, up;
  float width, height;  // of the wall
  int side;             // 0 to 3
};

WallPlace wall_place(const Box& box, Vec3f local, Vec3f normal) {
  const bool faces_x = std::abs(normal.x) > std::abs(normal.y);
  const Vec3f half = box.half_size;
  const float along = faces_x ? local.y + half.y : local.x + half.x;
  const int side = faces_x ? (normal.x > 0 ? 0 : 1) : (normal.y > 0 ? 2 : 3);
  return {along, local.z + half.z, 2 * (faces_x ? half.y : half.x), 2 * half.z, side};
}

Vec3f brick(const Part& part, const WallPlace& p, float footprint) {
  const float row = p.up / 0.24f, shift = 0.5f * std::fmod(std::floor(row), 2.0f);
  const float mortar = std::max(pulse(row, footprint / 0.24f, 0, 0.14f),
                                pulse(p.along / 0.5f + shift, footprint / 0.5f, 0, 0.07f));
  const auto column = static_cast<std::int64_t>(std::floor(p.along / 0.5f + shift));
  const float tone = visible_part(0.4f, footprint) *
                     (cell_value(column, static_cast<std::int64_t>(row), part.variant + p.side) - 0.5f);
  return mix(part.base * (1 + 0.6f * tone), Vec3f(0.52f, 0.50f, 0.46f), 0.6f * mortar);
}

// Panels with joints.
Vec3f concrete(const Part& part, const WallPlace& p, float footprint) {
  const float joint = std::max(pulse(p.along / 2.4f, footprint / 2.4f, 0, 0.02f),
                               pulse(p.up / 1.2f, footprint / 1.2f, 0, 0.035f));
  return part.base * (1 - 0.45f * joint);
}

Vec3f wall(const Part& part, const WallPlace& p, float footprint) {
  const Vec2f q(p.along + static_cast<float>(part.variant % 997), p.up + 40 * static_cast<float>(p.side));
  const float weather =
      0.45f * stain(q, 4, footprint) + 0.3f * stain(q, 0.9f, footprint) + 0.35f * stain(q, 0.2f, footprint);
  // Rain leaves streaks, which are longer than they are wide.
  const float streaks = 0.3f * stain(Vec2f(q.x, q.y * 0.15f), 0.6f, footprint);
  const float foot = 0.75f + 0.25f * smooth_step(0, 2.5f, p.up);
  Vec3f color = part.base;
  if (part.variant % 3 == 0) color = brick(part, p, footprint);
  if (part.variant % 3 == 1) color = concrete(part, p, footprint);
  return color * (foot * (1 + weather + streaks));
}

// The glass of a window: dark, with curtains, blinds or light in some.
Vec3f glass(const Part& part, const WallPlace& p, int column, int storey, float up_in_window) {
  const float kind = cell_value(column + 64 * p.side, storey, part.variant);
  const float tone = cell_value(column + 64 * p.side, storey, part.variant + 1);
  const Vec3f pane = part.accent * (0.7f + 1.2f * tone + 0.5f * up_in_window);
  if (kind < 0.15f)
    return mix(pane, Vec3f(0.62f, 0.58f, 0.50f), up_in_window > tone ? 0.8f : 0.0f);  // a blind
  if (kind < 0.30f) return mix(pane, Vec3f(0.55f, 0.45f, 0.36f), 0.55f);
  if (kind < 0.36f) return Vec3f(0.85f, 0.66f, 0.35f);
  return pane;
}

struct WindowShape {  // within a bay and a storey, from 0 to 1
  float left, right, bottom, top;
};

WindowShape window_shape(const Part& part, bool ground_floor) {
  if (part.finish == Finish::kGlassFacade) return {0.05f, 0.95f, 0.22f, 0.97f};
  if (ground_floor && part.variant % 5 < 2) return {0.08f, 0.92f, 0.08f, 0.78f};  // shops
  const float margin = 0.18f + 0.03f * static_cast<float>(part.variant % 4);
  return {margin, 1 - margin, 0.28f + 0.04f * static_cast<float>(part.variant % 3), 0.84f};
}

Vec3f facade(const Part& part, const WallPlace& p, float footprint) {
  const Vec3f plain = wall(part, p, footprint);
  const float columns = std::max(1.0f, std::round(p.width / part.bay)),
              storeys = std::max(1.0f, std::round(p.height / part.floor));
  const float bay = p.width / columns, floor = p.height / storeys;
  const float u = p.along / bay, v = p.up / floor, du = footprint / bay, dv = footprint / floor;
  const float storey = std::clamp(std::floor(v), 0.0f, storeys - 1);
  const WindowShape w = window_shape(part, storey == 0);
  const float frame_u = 0.09f / bay, frame_v = 0.09f / floor;
  const float inside = pulse(u, du, w.left, w.right) * pulse(v, dv, w.bottom, w.top);
  const float framed =
      pulse(u, du, w.left - frame_u, w.right + frame_u) * pulse(v, dv, w.bottom - frame_v, w.top + frame_v);
  const float bar = pulse(u, du, 0.5f - frame_u / 2, 0.5f + frame_u / 2);
  const Vec3f frame = part.variant % 2 ? Vec3f(0.70f, 0.69f, 0.66f) : Vec3f(0.16f, 0.13f, 0.11f);
  const float up = std::clamp((v - std::floor(v) - w.bottom) / (w.top - w.bottom), 0.0f, 1.0f);
  const Vec3f pane =
      mix(part.accent * 1.6f, glass(part, p, static_cast<int>(std::floor(u)), static_cast<int>(storey), up),
          visible_part(4, footprint));
  Vec3f color = mix(mix(plain, frame, framed), mix(pane, frame, bar), inside);
  // Ledges between the storeys, and a cornice.
  if (part.variant % 4 != 3) color = color * (1 - 0.3f * pulse(v, dv, 0.95f, 1));
  return mix(color, part.base * 0.55f, band(p.up, footprint, p.height - 0.5f, p.height));
}

// Gravel within a parapet.
Vec3f flat_roof(const Part& part, const Box& box, Vec3f local, float footprint) {
  const float edge = std::min(box.half_size.x - std::abs(local.x), box.half_size.y - std::abs(local.y));
  const Vec2f q(local.x + static_cast<float>(part.variant % 997), local.y);
  const float grey = 0.16f + 0.04f * static_cast<float>(part.variant % 7);
  const float seams = std::max(pulse(local.x / 3, footprint / 3, 0, 0.03f), 0.0f);
  const Vec3f gravel =
      Vec3f(grey, grey, 0.97f * grey) *
      ((1 + 0.8f * stain(q, 3.5f, footprint) + 0.7f * stain(q, 0.35f, footprint)) * (1 - 0.3f * seams));
  return mix(gravel, part.base * 0.9f, band(edge, footprint, -1, 0.45f));
}

// The roof is a bar whose x axis is the ridge; its ends are walls.
Vec3f tiled_roof(const Part& part, const Box& box, Vec3f local, Vec3f normal, float footprint) {
  if (std::abs(dot(normal, box.rotation[0])) > 0.5f) {
    const Vec2f q(local.y * 3, local.z * 3);
    return part.accent * (1 + 0.4f * stain(q, 1, footprint));
  }
  const bool first = std::abs(dot(normal, box.rotation[1])) > 0.5f;
  const float down = first ? local.z : local.y, along = local.x;
  const float row = down / 0.4f, shift = 0.5f * std::fmod(std::abs(std::floor(row)), 2.0f);
  const float gap = std::max(pulse(row, footprint / 0.4f, 0, 0.18f),
                             0.6f * pulse(along / 0.4f + shift, footprint / 0.4f, 0, 0.12f));
  const auto column = static_cast<std::int64_t>(std::floor(along / 0.4f + shift));
  const float tone = visible_part(0.4f, footprint) *
                     (cell_value(column, static_cast<std::int64_t>(std::floor(row)), part.variant) - 0.5f);
  const Vec2f q(along + static_cast<float>(part.variant % 997), down);
  return part.base * ((1 + 0.5f * tone + 0.7f * stain(q, 2, footprint)) * (1 - 0.45f * gap));
}

Vec3f leaves(const Part& part, Vec3f local, float footprint) {
  const float shift = static_cast<float>(part.variant % 997);
  const Vec3f q = local + Vec3f(shift, 0, 0);
  return mix(part.accent, part.base * 1.2f,
             0.5f + 2 * stain(q, 0.3f, footprint) + 1.2f * stain(q, 0.9f, footprint));
}

Vec3f plain(const Part& part, Vec3f local, float footprint) {
  const Vec3f q = local + Vec3f(static_cast<float>(part.variant % 997), 0, 0);
  return mix(part.base, part.accent, 0.25f + 0.8f * stain(q, 0.5f, footprint));
}

// Glass around, the paint on top.
Vec3f cabin(const Part& part, const Box& box, Vec3f local, float footprint) {
  return mix(part.accent, part.base, band(local.z, footprint, box.half_size.z - 0.1f, 10));
}

}  // namespace

Vec3f color_of(const Part& part, Vec3f point, Vec3f normal, float footprint) {
  const Vec3f local = local_point(part.shape, point);
  const Box* box = std::get_if<Box>(&part.shape);
  switch (part.finish) {
    case Finish::kFacade:
    case Finish::kGlassFacade:
      if (normal.z > 0.5f) return flat_roof(part, *box, local, footprint);
      return facade(part, wall_place(*box, local, normal), footprint);
    case Finish::kTiledRoof:
      return tiled_roof(part, *box, local, normal, footprint);
    case Finish::kLeaves:
      return leaves(part, local, footprint);
    case Finish::kCabin:
      return cabin(part, *box, local, footprint);
    case Finish::kPlain:
      break;
  }
  return plain(part, local, footprint);
}

}  // namespace stipple::synth::city
