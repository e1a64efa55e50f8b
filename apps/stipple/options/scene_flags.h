// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "stipple/scene/scene.h"

namespace stipple {

constexpr int kMaxResolutionPx = 65536, kMaxDownscale = 64, kMaxRandomPoints = 10'000'000;

// The options that say how a scene's photos are read, the same for every command that takes a scene.
void add_scene_options(CLI::App& command, SceneOptions& options);

}  // namespace stipple
