// SPDX-License-Identifier: Apache-2.0
// Reads camera.json.
#include "fuzz/fuzz_folder.h"
#include "stipple/io/camera_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  const std::filesystem::path path = folder.write("camera.json", data, size);
  expect_error_or_result([&] { load_camera(path); });
  return 0;
}
