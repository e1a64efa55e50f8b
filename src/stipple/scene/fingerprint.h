// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <vector>

#include "stipple/scene/scene.h"

namespace stipple {

// One number per view that changes with its name, its camera, its use, or the file of its photo or mask. Of a
// file, only the size and the last bytes are read. Scenes with the same fingerprints are the same to a
// trainer.
std::vector<std::uint32_t> fingerprints(const Scene& scene);

}  // namespace stipple
