// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/core/random.h"

namespace stipple::synth {

// A stream of random numbers for every purpose, so that an option changes only what it is about.
enum class Stream : std::uint64_t {
  kCameras,
  kPoints,
  kPoses,
  kFocals,
  kBlur,
  kExposure,
  kPassersBy,
  kFigures,
  kCityCameras,
  kCityPoints
};

inline Random random_stream(std::uint64_t seed, Stream stream) {
  return Random(seed, static_cast<std::uint64_t>(stream) << 32);
}

}  // namespace stipple::synth
