// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "stipple/synth/synth.h"

namespace stipple::synth {

// Gives the views the faults that the options ask for, and the cameras that are written instead of the true
// ones. A larger option makes the same faults larger.
void add_faults(const SynthOptions& options, std::span<SynthView> views);

}  // namespace stipple::synth
