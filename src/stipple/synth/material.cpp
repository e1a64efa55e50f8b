// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/material.h"

#include <cmath>

#include "stipple/core/interpolate.h"
#include "stipple/synth/geometry.h"
#include "stipple/synth/noise.h"

namespace stipple::synth {

namespace {

// All patterns have soft edges, a pixel or two wide at the distance of the cameras, to avoid aliasing.

// A square wave between -1 and 1 with period 2 and edges of this width.
float soft_square(float x, float edge) {
  const float within = x - 2 * std::floor(x / 2);  // [0, 2)
  return smooth_step(0, edge, within) * 2 * (1 - smooth_step(1, 1 + edge, within)) - 1;
}

// Growth rings around an off-centre axis, as in a plank, with fine fibres along it.
Vec3f wood(const Material& m, Vec3f p) {
  const Vec3f q = p * (1 / m.scale) + m.texture_offset;
  const float warp = 1.5f * noise(Vec3f(q.x * 0.25f, q.y * 0.7f, q.z * 0.7f));
  const float ring = std::hypot(p.y / m.scale + 3.1f, p.z / m.scale - 2.3f) + warp;
  const float fibre = noise(Vec3f(q.x * 0.6f, q.y * 4, q.z * 4));
  return mix(m.base, m.accent, 0.5f + 0.38f * std::sin(6.2832f * ring) + 0.5f * (fibre - 0.5f));
}

Vec3f marble(const Material& m, Vec3f p) {
  const Vec3f q = p * (1 / m.scale) + m.texture_offset;
  const float vein = std::abs(std::sin(2 * q.x + q.y + 7 * layered_noise(q)));
  return mix(m.accent, m.base, smooth_step(0, 0.55f, vein)) * (0.85f + 0.3f * noise(q * 2.5f));
}

Vec3f checker(const Material& m, Vec3f p) {
  // The offset puts the faces in the middle of a layer of cubes.
  const Vec3f q = p * (1 / m.scale) + Vec3f(0.5f, 0.5f, 0.5f);
  const float sign = soft_square(q.x, 0.08f) * soft_square(q.y, 0.08f) * soft_square(q.z, 0.08f);
  const float wear = layered_noise(p * (3 / m.scale) + m.texture_offset);
  return mix(m.base, m.accent, 0.5f + 0.5f * sign) * (0.75f + 0.5f * wear);
}

Vec3f stripes(const Material& m, Vec3f p) {
  const float wave = 0.35f * noise(p * (1.5f / m.scale) + m.texture_offset);
  const float sign = soft_square((p.z + 0.4f * p.x) / m.scale + wave, 0.12f);
  return mix(m.base, m.accent, 0.5f + 0.5f * sign) * (0.85f + 0.3f * noise(p * (4 / m.scale)));
}

Vec3f speckles(const Material& m, Vec3f p) {
  const Vec3f q = p * (1 / m.scale) + m.texture_offset;
  const float tint = layered_noise(q * 0.3f);
  return mix(m.base, m.accent, smooth_step(0.55f, 0.75f, noise(q)) + 0.5f * (tint - 0.5f)) *
         (0.75f + 0.5f * tint);
}

constexpr float kTerraceRadius = 2.7f;
constexpr float kTile = 0.36f;  // scene units

// 0 in the joint between two tiles, 1 on the tiles.
float off_joint(float x) {
  const float from_edge = 0.5f - std::abs(x - std::floor(x) - 0.5f);
  return smooth_step(0.015f, 0.045f, from_edge);
}

// Ground patterns are two-dimensional and use two of the offsets.
Vec2f on_ground(const Material& m, Vec3f p) { return {p.x + m.texture_offset.x, p.y + m.texture_offset.y}; }

// The brightness of stone, from 0 to 1, with coarse stains and fine grains.
float stone_tone(Vec2f p) { return 0.5f * noise(p * 1.7f) + 0.5f * layered_noise(p * 16.0f); }

Vec3f tiles(const Material& m, Vec3f p) {
  const float u = (0.8f * p.x + 0.6f * p.y) / kTile, v = (0.8f * p.y - 0.6f * p.x) / kTile;
  const auto row = static_cast<std::int64_t>(std::floor(v));
  const float shifted = u + (row % 2 == 0 ? 0.0f : 0.5f);
  const auto column = static_cast<std::int64_t>(std::floor(shifted));
  const float tone = cell_value(column, row, static_cast<std::int64_t>(m.texture_offset.x));
  const Vec3f slate(0.17f, 0.22f, 0.28f);
  const Vec3f color = tone < 0.22f ? slate : mix(m.base, m.accent, (tone - 0.22f) / 0.78f);
  return mix(Vec3f(0.10f, 0.09f, 0.08f), color * (0.4f + 1.1f * stone_tone(on_ground(m, p))),
             off_joint(shifted) * off_joint(v));
}

// Grass and dry patches. Only coarse features remain far away, where detail would alias.
Vec3f meadow(const Material& m, Vec3f p, float radius) {
  const Vec2f q = on_ground(m, p);
  const float nearness = 1 - smooth_step(3.5f, 9, radius);
  const float blades = nearness > 0 ? nearness * (layered_noise(q * 7.0f) - 0.5f) : 0;
  const Vec3f color =
      mix({0.10f, 0.20f, 0.04f}, {0.40f, 0.35f, 0.13f}, smooth_step(0.25f, 0.8f, layered_noise(q * 0.45f)));
  return mix(color * (1 + 1.3f * blades), {0.27f, 0.36f, 0.29f}, 0.8f * smooth_step(4, 20, radius));
}

Vec3f terrace(const Material& m, Vec3f p) {
  const float radius = std::hypot(p.x, p.y);
  const float outside = smooth_step(kTerraceRadius, kTerraceRadius + 0.03f, radius);
  if (outside >= 1) return meadow(m, p, radius);
  const float kerb = smooth_step(kTerraceRadius - 0.16f, kTerraceRadius - 0.13f, radius);
  if (kerb <= 0) return tiles(m, p);
  const Vec3f stone = Vec3f(0.42f, 0.40f, 0.36f) * (0.5f + stone_tone(on_ground(m, p)));
  return mix(mix(tiles(m, p), stone, kerb), meadow(m, p, radius), outside);
}

// The skyline's height relative to the dome's radius. Integer frequencies make it close on itself.
float ridge(float azimuth, float height, float frequency, float phase) {
  return height * (1 + 0.5f * std::sin(frequency * azimuth + phase) +
                   0.3f * std::sin((2 * frequency + 1) * azimuth + 2 * phase) +
                   0.12f * std::sin((5 * frequency + 2) * azimuth + 3 * phase));
}

constexpr float kHighestPeak = 0.15f;

// The dome, seen from inside: haze and hills at its foot, clouds above them.
Vec3f sky(const Material& m, Vec3f p) {
  const Vec3f d = p * (1 / m.scale);  // scale is the dome's radius
  Vec3f color = mix(m.accent, m.base, std::sqrt(std::max(0.0f, d.z)));
  const Vec3f q = Vec3f(d.x, d.y, 2 * d.z) * 3.0f + m.texture_offset;
  color = mix(color, {1.5f, 1.45f, 1.4f}, 0.8f * smooth_step(0.48f, 0.72f, layered_noise(q)));
  if (d.z > kHighestPeak) return color;
  const float azimuth = std::atan2(d.y, d.x), texture = layered_noise(q * 7.0f);
  const float far = ridge(azimuth, 0.075f, 3, m.texture_offset.x), near = ridge(azimuth, 0.035f, 5, 1.7f);
  color = mix(mix({0.36f, 0.47f, 0.66f}, {0.46f, 0.57f, 0.72f}, texture), color,
              smooth_step(far - 0.002f, far + 0.002f, d.z));
  return mix(mix({0.16f, 0.27f, 0.20f}, {0.30f, 0.42f, 0.30f}, texture), color,
             smooth_step(near - 0.002f, near + 0.002f, d.z));
}

}  // namespace

Vec3f color_at(const Material& material, Vec3f local) {
  switch (material.pattern) {
    case Pattern::kPlain:
      return material.base;
    case Pattern::kWood:
      return wood(material, local);
    case Pattern::kMarble:
      return marble(material, local);
    case Pattern::kChecker:
      return checker(material, local);
    case Pattern::kStripes:
      return stripes(material, local);
    case Pattern::kSpeckles:
      return speckles(material, local);
    case Pattern::kTerrace:
      return terrace(material, local);
    case Pattern::kSky:
      return sky(material, local);
  }
  return material.base;
}

}  // namespace stipple::synth
