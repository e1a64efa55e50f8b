// SPDX-License-Identifier: Apache-2.0
// Reads cameras.bin, images.bin or points3D.bin, chosen by the first byte, together with valid files for the
// other two.
#include "fuzz/fuzz_folder.h"
#include "stipple/scene/formats/save_scene.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  static const char* const names[] = {"cameras.bin", "images.bin", "points3D.bin"};
  if (size == 0) return 0;
  const PosedImage image{"a.jpg", {"PINHOLE", Lens::Kind::kPerspective, {9, 9}, {4, 4}, 8, 8, {}, {}}, {}};
  static bool is_ready = false;
  const int chosen = data[0] % 3;
  static int last = -1;
  if (!is_ready || chosen != last) save_colmap({&image, 1}, {}, ColmapFormat::kBinary, folder.path());
  is_ready = true;
  last = chosen;
  folder.write(names[chosen], data + 1, size - 1);
  expect_error_or_result([&] { load_colmap(folder.path()); });
  return 0;
}
