// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "stipple/synth/city/plan.h"
#include "stipple/synth/synth.h"

namespace stipple::synth::city {

// Cameras above the city and in its streets, without faults.
std::vector<Camera> place_cameras(const Plan& plan, const SynthOptions& options);

}  // namespace stipple::synth::city
