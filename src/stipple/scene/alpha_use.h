// SPDX-License-Identifier: Apache-2.0
#pragma once
// Recognises photos of cut-out objects by their alpha channels.
#include <span>
#include <string>

#include "stipple/scene/scene.h"

namespace stipple {

struct AlphaDecision {
  AlphaUse use = AlphaUse::kAuto;  // kAuto if no photo has an alpha channel and nothing was requested
  std::string reason;              // a phrase for users; empty if no photo has an alpha channel
};

// For kAuto, decodes a few of the photos that have an alpha channel, spread over the scene: they are objects
// if a good part of nearly every one is transparent. A few holes, or photos without alpha among the others,
// are weights, as masks are.
AlphaDecision decide_alpha(std::span<const SceneView> views, AlphaUse requested);

}  // namespace stipple
