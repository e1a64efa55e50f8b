// SPDX-License-Identifier: Apache-2.0
// Reads a .ksplat file.
#include "fuzz/fuzz_folder.h"
#include "stipple/model/formats/ksplat.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stipple;
  static const FuzzFolder folder;
  const std::filesystem::path path = folder.write("a.ksplat", data, size);
  ModelFacts facts;
  expect_error_or_result([&] { load_ksplat(path, facts); });
  return 0;
}
