// SPDX-License-Identifier: Apache-2.0
// Reads transforms.json.
#include "fuzz/fuzz_folder.h"
#include "stipple/scene/formats/transforms.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  const std::filesystem::path path = folder.write("transforms.json", data, size);
  expect_error_or_result([&] {
    for (const TransformsFrame& frame : load_transforms(path).frames)
      expect_error_or_result([&] { resolve_lens(frame.lens, 640, 480); });
  });
  return 0;
}
