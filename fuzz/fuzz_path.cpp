// SPDX-License-Identifier: Apache-2.0
// Reads a camera path, and follows it.
#include "fuzz/fuzz_folder.h"
#include "stipple/path/key_path.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  const std::filesystem::path path = folder.write("flight.json", data, size);
  expect_error_or_result([&] { frames_along(load_key_path(path), 9); });
  return 0;
}
