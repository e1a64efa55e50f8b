// SPDX-License-Identifier: Apache-2.0
#pragma once
// The .splat format of antimatter15's viewer: 32 bytes per Gaussian and no header, so that a file is known by
// its name only.
#include <filesystem>

#include "stipple/model/model_file.h"

namespace stipple {

Gaussians load_splat(const std::filesystem::path& path, ModelFacts& facts);

// Keeps positions and scales; rounds opacities, base colours (clamped to [0, 1]) and rotations to bytes; and
// drops the coefficients of degree 1 and above. The Gaussians are sorted by the product of their scales and
// opacity, the largest first, as in the files of other programs: viewers show a file while it loads.
void save_splat(const Gaussians& gaussians, const std::filesystem::path& path,
                const SaveModelOptions& options);

}  // namespace stipple
