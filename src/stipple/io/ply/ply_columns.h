// SPDX-License-Identifier: Apache-2.0
#pragma once
// Maps the properties of a PLY vertex to the parameters of a Gaussian.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "stipple/core/gaussians.h"
#include "stipple/io/ply/ply_header.h"

namespace stipple {

// A PlyRow holds the parameters of one Gaussian. Its first slots have these names in a file. The slots from
// kRestSlot on hold the coefficients of degree 1 and above as [k - 1][rgb]; a file stores them as f_rest_*,
// one channel after the other.
inline constexpr std::array<std::string_view, 14> kPlySlotNames = {
    "x",       "y",       "z",                 //
    "f_dc_0",  "f_dc_1",  "f_dc_2",            //
    "opacity",                                 // logit
    "scale_0", "scale_1", "scale_2",           // natural logarithm
    "rot_0",   "rot_1",   "rot_2",   "rot_3",  // quaternion (w, x, y, z)
};
inline constexpr int kMeanSlot = 0;
inline constexpr int kBaseSlot = 3;
inline constexpr int kOpacitySlot = 6;
inline constexpr int kScaleSlot = 7;
inline constexpr int kRotationSlot = 10;
inline constexpr int kRestSlot = 14;
inline constexpr int kMaxSlots = kRestSlot + 3 * 15;
using PlyRow = std::array<float, kMaxSlots>;

struct PlyColumns {
  int sh_degree = 0;
  std::vector<int> slot_from_property;  // -1 for properties to skip
};

// Returns the slot of f_rest_<index> in a file with `per_channel` f_rest_* coefficients per channel.
inline int rest_slot(int index, int per_channel) {
  return kRestSlot + 3 * (index % per_channel) + index / per_channel;
}

// The degree of the spherical harmonics in a file with so many f_rest_* properties.
int ply_sh_degree(int rest_count, const std::string& file_name);

// Finds the properties of a Gaussian by name, in any order. Throws an Error that names the first missing one.
PlyColumns find_ply_columns(const PlyElement& vertex, const std::string& file_name);

// Returns the row to read each vertex into, with defaults for the properties that a file may omit.
PlyRow default_ply_row();

void store_ply_row(const PlyRow& row, std::size_t gaussian, Gaussians& gaussians);

}  // namespace stipple
