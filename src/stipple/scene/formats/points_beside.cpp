// SPDX-License-Identifier: Apache-2.0
#include "stipple/scene/formats/points_beside.h"

#include <algorithm>

#include "stipple/core/error.h"
#include "stipple/io/input_file.h"
#include "stipple/io/ply/ply_header.h"
#include "stipple/scene/formats/files_with_extension.h"

namespace stipple {

namespace fs = std::filesystem;

namespace {

bool holds_points(const fs::path& path) {
  try {
    InputFile file(path, std::size_t{1} << 16);
    for (const PlyElement& element : read_ply_header(file).elements) {
      if (element.name != "vertex") continue;
      const auto has = [&](const char* name) {
        return std::ranges::any_of(element.properties, [&](const PlyProperty& p) { return p.name == name; });
      };
      return has("x") && has("y") && has("z") && !has("f_dc_0");
    }
  } catch (const ReadError&) {
    throw;
  } catch (const Error&) {  // not a .ply file
  }
  return false;
}

}  // namespace

PointsBeside find_points_beside(const fs::path& folder) {
  PointsBeside found;
  for (const fs::path& path : files_with_extension(folder, ".ply")) {
    if (!holds_points(path)) continue;
    if (path.filename() == "points.ply") return {path, 1};
    found.path = path;
    ++found.count;
  }
  if (found.count > 1) found.path.clear();
  return found;
}

}  // namespace stipple
