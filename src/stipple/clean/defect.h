// SPDX-License-Identifier: Apache-2.0
#pragma once
// The kinds of Gaussians that spoil a model, and how they are recognised.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "stipple/clean/photo_evidence.h"
#include "stipple/clean/shape.h"

namespace stipple {

enum class Defect : std::uint8_t {
  kNone,
  kNonFinite,    // a value is NaN or infinite; it is not drawn
  kFarOutside,   // many times farther away than the rest of the model
  kOversized,    // a veil that encloses the scene or covers the screen
  kSpike,        // a long needle
  kFloater,      // hangs alone in space, or close in front of a few cameras
  kUnsupported,  // shown by one photo at most, although more cameras look at it
};
constexpr std::array<const char*, 7> kDefectNames = {"none",  "non-finite", "far outside", "oversized",
                                                     "spike", "floater",    "unsupported"};

// Judges by shape alone, so it finds only what is certain. A Gaussian with several defects has the first one
// in the order above.
std::vector<Defect> find_defects(std::span<const Shape> shapes);

// Also judges by the photos, of which `view_count` were examined. What is suspicious but not certain counts
// if the photos are no worse without it.
std::vector<Defect> find_defects(std::span<const Shape> shapes, std::span<const Evidence> evidence,
                                 std::size_t view_count);

}  // namespace stipple
