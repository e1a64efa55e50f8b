// SPDX-License-Identifier: Apache-2.0
#pragma once
// What a visitor has changed of a model, as POST /save says it (docs/viewer.md). It comes from the network.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/core/gaussians.h"

namespace stipple {

struct ModelEdits {
  std::string name;  // of the file to write
  bool overwrites = false;
  std::vector<std::byte> removed;  // one bit per Gaussian, least significant first; empty if none is
  std::vector<double> crop;        // as crop_box() takes it; empty if there is no box
};

// Throws Error for a request that no page would send.
ModelEdits parse_edits(std::string_view request);

// Throws Error unless the name is that of a model in the folder itself, and of no file that a run has.
void check_edited_name(const std::string& name, bool is_in_run);

// The Gaussians that are left, in order. Throws Error if the edits are not of so many, or the box is none.
std::vector<std::uint32_t> rows_left(const ModelEdits& edits, const Gaussians& gaussians);

}  // namespace stipple
