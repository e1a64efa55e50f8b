// SPDX-License-Identifier: Apache-2.0
#include "stipple/synth/faults.h"

#include <algorithm>
#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/synth/random_stream.h"
#include "stipple/synth/still_life.h"

namespace stipple::synth {

namespace {

constexpr float kDegree = 0.017453293f;
constexpr float kSharpPart = 1.0f / 3;  // of the photos, if there is blur

Vec3f random_direction(Random& random) {
  const float x = random.normal(), y = random.normal(), z = random.normal();
  return stipple::normalized(Vec3f(x, y, z));
}

Mat3f rotation_about(Vec3f axis, float angle) {
  const Vec3f imaginary = axis * std::sin(angle / 2);
  return Math<float>::rotation_from_quaternion({std::cos(angle / 2), imaginary.x, imaginary.y, imaginary.z});
}

// Turns the camera about its centre and moves it as far as the middle of the scene would seem to move if it
// were turned by another such angle.
RigidTransform displaced(const Camera& camera, float noise_degrees, Random& random) {
  const auto angle = [&] { return noise_degrees * kDegree * random.normal(); };
  const Vec3f center = center_of(camera);
  const Vec3f axis = random_direction(random), direction = random_direction(random);
  const Mat3f rotation = rotation_about(axis, angle()) * camera.camera_from_world.rotation;
  const Vec3f moved = center + direction * (std::tan(angle()) * length(kMiddle - center));
  return {rotation, -(rotation * moved)};
}

Vec2f random_blur(float largest_px, Random& random) {
  const float share = random.uniform(), angle = random.uniform(0, 3.1415927f);
  const float sigma_px = largest_px * std::max(0.0f, (share - kSharpPart) / (1 - kSharpPart));
  return {sigma_px * std::cos(angle), sigma_px * std::sin(angle)};
}

// Chooses a photo from each of as many equal parts of the capture.
void add_passers_by(const SynthOptions& options, std::span<SynthView> views) {
  Random random = random_stream(options.seed, Stream::kPassersBy);
  const auto count = static_cast<std::size_t>(options.passer_by_count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = i * views.size() / count, end = (i + 1) * views.size() / count;
    views[begin + random.below(end - begin)].faults.passer_by = static_cast<int>(i + 1);
  }
}

}  // namespace

void add_faults(const SynthOptions& options, std::span<SynthView> views) {
  const auto stream = [&](Stream s) { return random_stream(options.seed, s); };
  Random poses = stream(Stream::kPoses), focals = stream(Stream::kFocals);
  Random blur = stream(Stream::kBlur), exposure = stream(Stream::kExposure);
  for (SynthView& view : views) {
    view.written_camera = view.camera;
    if (options.pose_noise_degrees > 0)
      view.written_camera.camera_from_world = displaced(view.camera, options.pose_noise_degrees, poses);
    if (options.focal_noise > 0)  // the logarithm is normal, so that the focal length stays positive
      view.written_camera.focal_px = view.camera.focal_px * std::exp(options.focal_noise * focals.normal());
    view.faults.blur_px = random_blur(options.blur_px, blur);
    view.faults.exposure_stops = options.exposure_stops * exposure.normal();
  }
  add_passers_by(options, views);
}

}  // namespace stipple::synth
