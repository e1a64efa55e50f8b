// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "stipple/train/trainer.h"

namespace stipple {

// What the guard did, as a sentence for the user.
std::string guard_sentence(const GuardEvent& event);

}  // namespace stipple
