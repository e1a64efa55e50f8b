// SPDX-License-Identifier: Apache-2.0
// Reads OpenMVG's sfm_data.json.
#include "fuzz/fuzz_folder.h"
#include "stipple/scene/formats/tools.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  const std::filesystem::path path = folder.write("sfm_data.json", data, size);
  expect_error_or_result([&] {
    for (const SourceImage& image : read_openmvg(path).images)
      expect_error_or_result([&] { resolve_lens(image.lens, 640, 480); });
  });
  return 0;
}
