// SPDX-License-Identifier: Apache-2.0
#include "stipple/compress/survey.h"

#include <cmath>

#include "stipple/camera/pose.h"
#include "stipple/clean/shape.h"

namespace stipple {

namespace {

constexpr int kAround = 8, kSizePx = 512;
constexpr float kFocalPx = 512;
constexpr float kFar = 2.5f, kNear = 1.2f;  // distances, in radii of the model
constexpr float kHeight = 0.3f;             // of the far cameras, above the middle
constexpr float kNearPlane = 0.02f;         // in radii
constexpr float kFullTurn = 6.2831853f;

Camera camera_at(Vec3f from, Vec3f to) {
  return {look_at(from, to, {0, -1, 0}),
          {kFocalPx, kFocalPx},
          {kSizePx / 2.0f, kSizePx / 2.0f},
          kSizePx,
          kSizePx};
}

}  // namespace

Survey survey_of(const Gaussians& gaussians) {
  const ModelFrame frame = shape_of(gaussians).frame;
  const float radius = frame.radius > 0 ? frame.radius : 1.0f;
  Survey survey{{}, kNearPlane * radius};
  for (int i = 0; i < kAround; ++i) {
    const float angle = kFullTurn * static_cast<float>(i) / kAround;
    const Vec3f side{std::cos(angle), 0, std::sin(angle)}, above{0, -kHeight, 0};
    survey.cameras.push_back(camera_at(frame.middle + (side + above) * (kFar * radius), frame.middle));
    survey.cameras.push_back(camera_at(frame.middle + side * (kNear * radius), frame.middle));
    survey.cameras.push_back(camera_at(frame.middle, frame.middle + side * radius));
  }
  return survey;
}

}  // namespace stipple
