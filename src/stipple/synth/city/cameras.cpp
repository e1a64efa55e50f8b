// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/city/cameras.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "stipple/synth/capture.h"
#include "stipple/synth/random_stream.h"

namespace stipple::synth::city {

namespace {

constexpr int kStreetShare = 5;  // one of so many photos is taken in a street
constexpr float kOverlap = 7;    // photos from the air that show a place, if all looked straight down
constexpr float kLowest = kTallest + 22, kHighest = 160;  // of the flight, in metres
constexpr float kMargin = 0.2f;   // between the flight and the border of the city, relative to its height
constexpr float kStreetEnd = 30;  // metres in which no photo looks out of the city
constexpr float kEyeHeight = 2.6f;
constexpr float kLane = 1.2f;  // from the middle of the street
// Between photos in a street, in metres: where they are too few for all streets, some streets have none.
constexpr float kStep = 20;
constexpr float kTurn = 0.35f;  // tangent of the angle between a street and the views along it

// Low where photos are many, so that each place is in about as many of them.
float flight_height(const Plan& plan, const SynthOptions& options, int count) {
  const Camera any = camera_at({0, 0, 1}, {0, 0, 0}, {0, 1, 0}, options);
  const float seen = static_cast<float>(any.width_px) * static_cast<float>(any.height_px) /
                     (any.focal_px.x * any.focal_px.y);  // from a height of 1
  const float side = 2 * plan.half_size();
  return std::clamp(std::sqrt(kOverlap * side * side / (static_cast<float>(count) * seen)), kLowest,
                    kHighest);
}

void add_flight(const Plan& plan, const SynthOptions& options, int count, Random& random,
                std::vector<Camera>& cameras) {
  constexpr std::array<Vec2f, 5> kSlants{{{0, 0}, {1, 0}, {0, 1}, {-1, 0}, {0, -1}}};
  const float height = flight_height(plan, options, count), half = plan.half_size(),
              reach = half - std::min(kMargin * height, half / 2);
  const int rows = std::max(1, static_cast<int>(std::lround(std::sqrt(static_cast<float>(count)))));
  for (int i = 0; i < count; ++i) {
    const int row = i * rows / count;
    const int begin = (row * count + rows - 1) / rows, end = ((row + 1) * count + rows - 1) / rows;
    float along = (static_cast<float>(i - begin) + 0.5f) / static_cast<float>(end - begin);
    if (row % 2 == 1) along = 1 - along;
    const float across = (static_cast<float>(row) + 0.5f) / static_cast<float>(rows);
    const float x = (2 * along - 1) * reach + random.uniform(-2, 2),
                y = (2 * across - 1) * reach + random.uniform(-2, 2);
    const float z = height * random.uniform(0.96f, 1.04f), tilt = random.uniform(0.8f, 1.1f);
    Vec2f slant = kSlants[static_cast<std::size_t>((2 * (i - begin) + row) % 5)] * (tilt * z);
    if (std::abs(x + slant.x) > half || std::abs(y + slant.y) > half) slant = -slant;  // look at the city
    const bool is_down = slant == Vec2f(0, 0);
    const Vec3f target = is_down ? Vec3f(x + random.uniform(-3, 3), y + random.uniform(-3, 3), 0)
                                 : Vec3f(x + slant.x, y + slant.y, 0);
    cameras.push_back(camera_at({x, y, z}, target, is_down ? Vec3f(0, 1, 0) : Vec3f(0, 0, 1), options));
  }
}

// Along the streets between blocks, numbered from those along x; a city of one block has only those around
// it.
void add_streets(const Plan& plan, const SynthOptions& options, int count, Random& random,
                 std::vector<Camera>& cameras) {
  const int first = plan.block_count > 1 ? 1 : 0, last = plan.block_count - first;
  const int lines = last - first + 1;
  const float half = plan.half_size();
  const int visited =
      std::clamp(static_cast<int>(static_cast<float>(count) * kStep / (2 * half)), 1, 2 * lines);
  for (int i = 0; i < count; ++i) {
    const float way_done =
        (static_cast<float>(i) + 0.5f) * static_cast<float>(visited) / static_cast<float>(count);
    const int tour = std::min(static_cast<int>(way_done), visited - 1);
    const int street = (2 * tour + 1) * lines / visited;
    const float way = tour % 2 == 0 ? 1.0f : -1.0f;
    const float along = way * ((way_done - static_cast<float>(tour)) * (2 * half - kStreetEnd) - half);
    const float beside = static_cast<float>(first + street % lines) * kBlockSize - half - way * kLane;
    const float turn = kTurn * (i % 3 == 0 ? 0.0f : i % 3 == 1 ? 1.0f : -1.0f) + random.uniform(-0.1f, 0.1f);
    const float up = random.uniform(0.02f, 0.2f);
    const bool along_x = street < lines;
    const auto world = [&](float a, float b, float z) { return along_x ? Vec3f(a, b, z) : Vec3f(-b, a, z); };
    const Vec3f position = world(along, along_x ? beside : -beside, kEyeHeight + random.uniform(-0.3f, 0.3f));
    cameras.push_back(camera_at(position, position + world(way, turn, up), {0, 0, 1}, options));
  }
}

}  // namespace

std::vector<Camera> place_cameras(const Plan& plan, const SynthOptions& options) {
  Random random = random_stream(options.seed, Stream::kCityCameras);
  std::vector<Camera> cameras;
  cameras.reserve(static_cast<std::size_t>(options.view_count));
  const int in_streets = options.view_count / kStreetShare;
  add_flight(plan, options, options.view_count - in_streets, random, cameras);
  add_streets(plan, options, in_streets, random, cameras);
  return cameras;
}

}  // namespace stipple::synth::city
