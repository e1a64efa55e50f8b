// SPDX-License-Identifier: Apache-2.0
#pragma once
// The .ksplat format of mkkellogg's viewer, versions 0.1 and newer, at all of its compression levels: floats
// (0), half floats with positions relative to buckets of neighbours (1), and the same with bytes for the
// coefficients of degree 1 and above (2).
#include <filesystem>

#include "stipple/model/model_file.h"

namespace stipple {

// Gaussians of all sections, in their order. Sections may differ in degree: missing coefficients are 0.
Gaussians load_ksplat(const std::filesystem::path& path, ModelFacts& facts);

}  // namespace stipple
