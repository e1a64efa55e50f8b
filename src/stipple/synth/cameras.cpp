// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "stipple/synth/capture.h"
#include "stipple/synth/faults.h"
#include "stipple/synth/random_stream.h"
#include "stipple/synth/still_life.h"
#include "stipple/synth/synth.h"

namespace stipple {

namespace {

struct Ring {
  float radius, height;  // of the cameras around the z axis, in scene units
};
constexpr std::array<Ring, 3> kRings{{{3.5f, 0.75f}, {3.4f, 1.7f}, {2.9f, 2.7f}}};

constexpr float kJitter = 0.06f;       // in scene units, each way; for positions and targets
constexpr float kAngleJitter = 0.15f;  // relative to the angle between neighbours, each way
constexpr float kMostJitter = 0.05f;   // the same, relative to a full turn, so that few views stay apart

Vec3f jitter(Random& random) {
  const auto one = [&] { return random.uniform(-kJitter, kJitter); };
  return {one(), one(), one()};
}

}  // namespace

std::vector<SynthView> synth_cameras(const SynthOptions& options) {
  synth::check(options);
  Random random = synth::random_stream(options.seed, synth::Stream::kCameras);
  std::vector<SynthView> views;
  constexpr int kRingCount = static_cast<int>(kRings.size());
  for (int r = 0; r < kRingCount; ++r) {
    const Ring& ring = kRings[static_cast<std::size_t>(r)];
    const int begin = r * options.view_count / kRingCount, end = (r + 1) * options.view_count / kRingCount;
    const float angle_jitter = std::min(kAngleJitter, kMostJitter * static_cast<float>(end - begin));
    for (int i = begin; i < end; ++i) {
      // Each ring is rotated by a third of a step against the one before.
      const float turn = static_cast<float>(i - begin) + static_cast<float>(r) / kRingCount +
                         random.uniform(-angle_jitter, angle_jitter);
      const float angle = 6.2831853f * turn / static_cast<float>(end - begin);
      const Vec3f place(ring.radius * std::cos(angle), ring.radius * std::sin(angle), ring.height);
      const Vec3f position = place + jitter(random), target = synth::kMiddle + jitter(random);
      const Camera camera = synth::camera_at(position, target, {0, 0, 1}, options);
      views.push_back({fmt::format("{:04}.png", views.size() + 1), camera, camera});
    }
  }
  synth::add_faults(options, views);
  return views;
}

}  // namespace stipple
