// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <filesystem>

#include "apps/stipple/view/training_history.h"

namespace stipple {

// What the log and the metrics in the folder of a run tell of its steps up to this one. Lines that cannot be
// read are left out.
RunHistory earlier_history(const std::filesystem::path& folder, int last_step);

}  // namespace stipple
