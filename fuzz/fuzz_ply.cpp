// SPDX-License-Identifier: Apache-2.0
// Reads a .ply file as Gaussians and as points.
#include "fuzz/fuzz_folder.h"
#include "stipple/io/ply/ply.h"
#include "stipple/scene/formats/points_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  const std::filesystem::path path = folder.write("a.ply", data, size);
  std::size_t dropped = 0;
  expect_error_or_result([&] { load_ply(path); });
  expect_error_or_result([&] { load_points(path, dropped); });
  return 0;
}
