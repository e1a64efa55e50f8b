// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "stipple/synth/city/block.h"

namespace stipple::synth::city {

namespace {

constexpr float kTrunk = 0.16f;  // radius, also of its round end, which stands on the ground
constexpr std::array<Vec3f, 8> kPaints{{{0.55f, 0.05f, 0.04f},
                                        {0.75f, 0.75f, 0.74f},
                                        {0.05f, 0.06f, 0.07f},
                                        {0.08f, 0.15f, 0.42f},
                                        {0.38f, 0.40f, 0.42f},
                                        {0.70f, 0.52f, 0.06f},
                                        {0.10f, 0.26f, 0.16f},
                                        {0.50f, 0.62f, 0.68f}}};

}  // namespace

void add_tree(Lot& lot, Vec2f foot, Random& random) {
  const float height = random.uniform(2.2f, 3.4f), radius = random.uniform(1.2f, 1.75f);
  lot.add({rod_between({foot.x, foot.y, kTrunk}, {foot.x, foot.y, height}, kTrunk), Finish::kPlain,
           Vec3f(0.16f, 0.11f, 0.07f), Vec3f(0.08f, 0.06f, 0.04f)});
  const float light = random.uniform(0.7f, 1.3f), warmth = random.uniform(0, 0.10f);
  const Vec3f leaf = Vec3f(0.10f + warmth, 0.22f, 0.05f) * light;
  const auto variant = static_cast<int>(random.below(1 << 16));
  for (int i = 0; i < 4; ++i) {
    const float angle = random.uniform(0, 6.2831853f), size = radius * random.uniform(0.65f, 0.95f);
    const float away = i == 0 ? 0 : 0.6f * radius, rise = i == 0 ? 1.3f : random.uniform(0.3f, 0.9f);
    const Vec3f middle(foot.x + away * std::cos(angle), foot.y + away * std::sin(angle),
                       height + rise * radius);
    lot.add({Ball{middle, size}, Finish::kLeaves, leaf, leaf * 0.35f, 3, 3, variant + i});
  }
}

void add_car(Lot& lot, Vec2f middle, bool along_x, Random& random) {
  const float length = random.uniform(1.9f, 2.25f), turn = random.uniform() < 0.5f ? 1.0f : -1.0f;
  const Vec3f paint = kPaints[random.below(kPaints.size())];
  // A box with its middle at this distance along the car, from one height to another.
  const auto box = [&](float along, float half_length, float half_width, float from, float to) {
    const Vec2f at = along_x ? Vec2f(middle.x + along, middle.y) : Vec2f(middle.x, middle.y + along);
    const float half_height = (to - from) / 2;
    return Box{
        {at.x, at.y, from + half_height},
        kUpright,
        along_x ? Vec3f(half_length, half_width, half_height) : Vec3f(half_width, half_length, half_height)};
  };
  const auto variant = static_cast<int>(random.below(1 << 16));
  const Vec3f rubber(0.02f, 0.02f, 0.02f);
  for (const float wheel : {-0.62f, 0.62f})
    lot.add({box(wheel * length, 0.32f, 0.86f, 0, 0.6f), Finish::kPlain, rubber, rubber, 3, 3, variant});
  lot.add({box(0, length, 0.88f, 0.28f, 0.88f), Finish::kPlain, paint, paint * 0.8f, 3, 3, variant});
  lot.add({box(-0.12f * turn * length, 0.55f * length, 0.78f, 0.86f, 1.46f), Finish::kCabin, paint,
           Vec3f(0.04f, 0.05f, 0.06f), 3, 3, variant});
}

}  // namespace stipple::synth::city
