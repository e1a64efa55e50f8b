// SPDX-License-Identifier: Apache-2.0
// Reads an image from a .npy file.
#include "fuzz/fuzz_folder.h"
#include "stipple/io/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  const std::filesystem::path path = folder.write("a.npy", data, size);
  expect_error_or_result([&] { load_npy(path); });
  return 0;
}
