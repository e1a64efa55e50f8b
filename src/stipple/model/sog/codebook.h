// SPDX-License-Identifier: Apache-2.0
#pragma once
// Numbers as one of 256 values.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace stipple {

using Codebook = std::array<float, 256>;  // ascending; values may repeat at the end

// Chooses the entries so that the mean squared error of rounding each value to the nearest entry is as small
// as possible. At most 256 distinct values are kept exactly. Values must be finite; of none, all entries
// are 0. If weights are given, one per value, they are those of the squared errors.
Codebook make_codebook(std::span<const float> values, std::span<const float> weights = {});

// The index of the entry nearest to a value; the lower one in the middle between two.
std::uint8_t nearest_entry(const Codebook& codebook, float value);

}  // namespace stipple
