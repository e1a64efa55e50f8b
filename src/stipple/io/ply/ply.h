// SPDX-License-Identifier: Apache-2.0
#pragma once
// Gaussians as .ply files, in the layout of the first 3D Gaussian splatting implementation, which most
// programs read and write.
#include <filesystem>

#include "stipple/core/gaussians.h"

namespace stipple {

// Reads any 3DGS .ply: ascii or binary of either endianness, any number types, properties in any order and by
// name. Normals, f_rest_* and scale_2 may be absent; other properties and elements are passed over. Numbers
// too large for a float become infinite. A broken file is an Error that names the place, such as "garden.ply:
// vertex 1204: file ends early", counting from 0.
Gaussians load_ply(const std::filesystem::path& path);

// Writes the usual file: binary_little_endian floats x y z nx ny nz f_dc_* f_rest_* opacity scale_* rot_*,
// with the normals zero. Every bit of every number comes back when it is read again.
void save_ply(const Gaussians& gaussians, const std::filesystem::path& path);

}  // namespace stipple
