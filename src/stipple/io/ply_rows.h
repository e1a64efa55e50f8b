// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of a PLY element, ascii or binary. Errors name the row: "garden.ply: vertex 1204: file ends
// early".
#include "stipple/core/gaussians.h"
#include "stipple/io/input_file.h"
#include "stipple/io/ply_columns.h"
#include "stipple/io/ply_header.h"

namespace stipple {

// Reads every vertex. `gaussians` has room for all that the file can hold, which may be fewer than claimed.
void read_ply_rows(InputFile& file, const PlyElement& vertex, PlyFormat format, const PlyColumns& columns,
                   Gaussians& gaussians);

void skip_ply_rows(InputFile& file, const PlyElement& element, PlyFormat format);

// Whether there is enough left in the file for one more row of this element.
bool another_ply_row_follows(InputFile& file, const PlyElement& element, PlyFormat format);

}  // namespace stipple
