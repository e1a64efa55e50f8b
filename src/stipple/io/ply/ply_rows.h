// SPDX-License-Identifier: Apache-2.0
#pragma once
// Reads the rows of a PLY element, ascii or binary. Errors name the row: "garden.ply: vertex 1204: the file
// is truncated".
#include <functional>
#include <span>

#include "stipple/io/input_file.h"
#include "stipple/io/ply/ply_columns.h"
#include "stipple/io/ply/ply_header.h"

namespace stipple {

// Reads each vertex into `row` and calls store(index, row). slot_from_property gives the slot of each
// property, or -1 to skip it. Slots without a property keep their initial values.
void read_ply_rows(InputFile& file, const PlyElement& vertex, PlyFormat format,
                   std::span<const int> slot_from_property, PlyRow row,
                   const std::function<void(std::size_t, const PlyRow&)>& store);

void skip_ply_rows(InputFile& file, const PlyElement& element, PlyFormat format);

// Returns whether the rest of the file is long enough for another row of this element.
bool another_ply_row_follows(InputFile& file, const PlyElement& element, PlyFormat format);

}  // namespace stipple
