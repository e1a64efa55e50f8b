// SPDX-License-Identifier: Apache-2.0
// Part of the public interface.
#pragma once
// Gaussians as .ply files, in the layout of the original 3D Gaussian splatting implementation, which most
// programs read and write.
#include <filesystem>
#include <string_view>

#include "stipple/core/gaussians.h"

namespace stipple {

// Reads any 3DGS .ply: ascii or binary of either endianness, with any number types. Properties are identified
// by name and may come in any order. Normals, f_rest_* and scale_2 are optional; other properties and
// elements are skipped. Numbers too large for a float become infinite. A malformed file is an Error that
// names the position, such as "garden.ply: vertex 1204: the file is truncated"; vertices are counted from 0.
Gaussians load_ply(const std::filesystem::path& path);

// Writes the standard layout: binary_little_endian floats x y z nx ny nz f_dc_* f_rest_* opacity scale_*
// rot_*, with zero normals. load_ply() reads back every bit of every number. A comment, of one line, is put
// into the header.
void save_ply(const Gaussians& gaussians, const std::filesystem::path& path, std::string_view comment = {});

}  // namespace stipple
