// SPDX-License-Identifier: Apache-2.0
// Reads cameras.txt, images.txt or points3D.txt, chosen by the first byte, together with empty files for the
// other two.
#include "fuzz/fuzz_folder.h"
#include "stipple/scene/formats/colmap.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  static const char* const names[] = {"cameras.txt", "images.txt", "points3D.txt"};
  if (size == 0) return 0;
  for (int i = 0; i < 3; ++i) {
    const bool is_chosen = i == data[0] % 3;
    folder.write(names[i], data + 1, is_chosen ? size - 1 : 0);
  }
  expect_error_or_result([&] {
    load_colmap(folder.path());
    colmap_image_count(folder.path());
  });
  return 0;
}
