// SPDX-License-Identifier: Apache-2.0
#pragma once
// Where a visitor starts, and around what he moves.
#include <optional>
#include <span>

#include "apps/stipple/view/messages.h"
#include "stipple/model/robust_bounds.h"
#include "stipple/scene/scene.h"

namespace stipple {

struct StartView {
  ViewBounds bounds;
  Camera camera;
};

// Without views, the model is taken to be upright in the usual frame (x right, y down, z forward), and the
// camera shows its bounds. With views, their cameras tell what is up and in the middle, and the camera is
// that of an ordinary view.
StartView start_view(const RobustBounds& model, std::span<const SceneView> views);

}  // namespace stipple
