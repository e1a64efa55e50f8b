// SPDX-License-Identifier: Apache-2.0
// Reads OpenSfM's reconstruction.json.
#include "fuzz/fuzz_folder.h"
#include "stipple/scene/formats/tools.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  const std::filesystem::path path = folder.write("reconstruction.json", data, size);
  expect_error_or_result([&] {
    for (const SourceImage& image : read_opensfm(path).images)
      expect_error_or_result([&] { resolve_lens(image.lens, 640, 480); });
  });
  return 0;
}
