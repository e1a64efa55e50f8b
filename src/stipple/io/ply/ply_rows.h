// SPDX-License-Identifier: Apache-2.0
#pragma once
// The rows of a PLY element, ascii or binary. Errors name the row: "garden.ply: vertex 1204: file ends
// early".
#include <functional>
#include <span>

#include "stipple/io/input_file.h"
#include "stipple/io/ply/ply_columns.h"
#include "stipple/io/ply/ply_header.h"

namespace stipple {

// Reads every vertex: its numbers go into the slots of `row` that the properties have (-1: none), and it to
// store(index, row). What no property fills stays as it was.
void read_ply_rows(InputFile& file, const PlyElement& vertex, PlyFormat format,
                   std::span<const int> slot_from_property, PlyRow row,
                   const std::function<void(std::size_t, const PlyRow&)>& store);

void skip_ply_rows(InputFile& file, const PlyElement& element, PlyFormat format);

// Whether there is enough left in the file for one more row of this element.
bool another_ply_row_follows(InputFile& file, const PlyElement& element, PlyFormat format);

}  // namespace stipple
